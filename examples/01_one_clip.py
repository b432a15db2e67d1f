"""One clip, from a map to what the model did with it.

Run: python examples/01_one_clip.py
"""

import torch

import epir

maps = epir.synthetic_maps(4, "direct", seed=1)  # u, v and strain of four synthetic clips
model = epir.create_model("epir", pretrained=True).eval()  # the shipped weights
logits, record = model.explain(torch.tensor(maps.maps))

clip = maps.clips[0]
CLASSES = ("negative", "positive", "surprise")
print(f"answer: {CLASSES[int(logits[0].argmax())]}")
print(f"{clip.key} shows {clip.emotion} (action units {clip.extra['action_units']})")
print(f"its {record.grid**2} patches became {len(record.groups(0))} tokens:")
for number, patches in enumerate(record.groups(0)):
    heads = [head for head, token in enumerate(record.selected[0].tolist()) if token == number]
    chosen = f"   <- selected by head {', '.join(map(str, heads))}" if heads else ""
    print(f"  token {number}: patches {patches}{chosen}")
