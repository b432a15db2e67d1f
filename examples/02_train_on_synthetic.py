"""Train on invented people, then recognise others that training never saw.

Run: python examples/02_train_on_synthetic.py
"""

import epir
from epir.evaluation.scores import confusion_matrix, uf1
from epir.synthetic.maps import synthetic_maps
from epir.training.data import LabelledMaps
from epir.training.fit import predict
from epir.training.recipe import TrainingSettings

CLASSES = ("negative", "positive", "surprise")

train, others = synthetic_maps(480, "direct", seed=1), synthetic_maps(160, "direct", seed=2)
model = epir.create_model("epir", width=96, feed_forward=192)  # small, to be quick
clips = LabelledMaps.of(train.maps, [clip.emotion for clip in train.clips], CLASSES)
trained = epir.fit(model, clips, TrainingSettings(epochs=8, lr=1e-3))
print(f"trained on {len(train)} maps, loss {trained.losses[0]:.2f} -> {trained.losses[-1]:.2f}")

truth = [clip.emotion for clip in others.clips]
guess = [CLASSES[number] for number in predict(model, others.maps).argmax(1)]
print(f"UF1 {uf1(confusion_matrix(truth, guess, CLASSES)):.2f} strict, on {len(others)} maps of other people")
