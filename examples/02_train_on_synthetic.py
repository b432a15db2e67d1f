"""Train on synthetic faces, then recognise others that training never saw.

Run: python examples/02_train_on_synthetic.py
"""

import epir

CLASSES = ("negative", "positive", "surprise")

train, others = epir.synthetic_maps(320, "direct", seed=1), epir.synthetic_maps(160, "direct", seed=2)
clips = epir.LabelledMaps.of(train.maps, [clip.emotion for clip in train.clips], CLASSES)
model = epir.create_model("epir", width=48, feed_forward=96, blocks=7)  # small, to be quick
trained = epir.fit(model, clips, epir.TrainingSettings(epochs=8, lr=2e-3))
print(f"trained on {len(train)} maps, loss {trained.losses[0]:.2f} -> {trained.losses[-1]:.2f}")

scores = epir.predict_maps(model, others.maps).scores  # (160, 3), rows sum to 1
right = [CLASSES[row.argmax()] == clip.emotion for row, clip in zip(scores, others.clips, strict=True)]
print(f"accuracy {sum(right) / len(right):.2f} strict, on {len(others)} maps of other people")
