import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from epir.models import single
from epir.models.presets import PRESETS, preset
from epir.models.transformer import Epir

SMALL = {"width": 24, "heads": 3, "feed_forward": 32}


def alone(model, maps):
    """Logits of each map by itself, and how many of them were answered the short way."""
    answered = []
    with pytest.MonkeyPatch.context() as patch, torch.inference_mode():
        original = single.pass_last
        patch.setattr(single, "pass_last", lambda *given: answered.append(1) or original(*given))
        return torch.cat([model(map_.unsqueeze(0)) for map_ in maps]), len(answered)


@settings(max_examples=20, deadline=None)
@given(
    name=st.sampled_from(sorted(PRESETS)),
    rollout=st.sampled_from(["full", "extractor"]),
    integration=st.sampled_from([0.0, 0.2, 0.375]),
    size=st.sampled_from([21, 28]),
    seed=st.integers(0, 10**6),
)
def test_one_map_gives_what_it_gives_in_a_batch(name, rollout, integration, size, seed):
    torch.manual_seed(seed)
    merged = {"integration": integration} if name == "epir" else {}
    model = Epir(preset(name, **SMALL, **merged, map_size=size, rollout=rollout)).eval().double()
    with torch.no_grad():
        for block in (*model.blocks, model.last_block):
            block.attention.to_qkv.weight *= 3  # attention that differs from token to token
    maps = torch.randn(4, 3, size, size, dtype=torch.double)
    logits, answered = alone(model, maps)
    assert answered == 4
    assert torch.allclose(logits, model(maps), atol=1e-9)


@pytest.mark.parametrize("changes", [{"merge": "weighted"}, {"integration": 0.6}])
def test_blocks_that_merge_otherwise_take_the_long_way(changes):
    model, maps = Epir(preset("epir", **SMALL, **changes)).eval(), torch.randn(2, 3, 28, 28)
    logits, answered = alone(model, maps)
    assert answered == 0
    assert torch.allclose(logits, model(maps), atol=1e-5)


def test_a_gradient_or_training_takes_the_long_way():
    model, map_ = Epir(preset("epir", **SMALL)).eval(), torch.randn(1, 3, 28, 28)
    assert model(map_).requires_grad
    _, answered = alone(model.train(), map_)
    assert answered == 0


def test_between_patches_and_head_torch_is_not_asked_for_what_it_answers_in_python():
    model, rows = Epir(preset("epir", **SMALL)).eval(), torch.randn(17, 24)
    blocks, last = list(model.blocks), model.last_block
    called = set()

    def answer():
        single.pass_last(single.pass_blocks(rows, blocks, rollout_from=0), last)

    def note(frame, event, _):
        if event == "call":
            called.add((frame.f_globals["__name__"], frame.f_code.co_name))

    before = sys.getprofile()
    with torch.inference_mode():
        answer()  # masks are made once
        sys.setprofile(note)
        try:
            answer()
        finally:
            sys.setprofile(before)
    assert {("epir.models.single", "look_up"), ("epir.models.single", "class_row")} < called
    assert {module for module, _ in called if module != __name__} == {"epir.models.single"}


def test_it_follows_weights_that_change_and_models_that_move():
    torch.manual_seed(0)
    model, maps = Epir(preset("epir", **SMALL)).eval(), torch.randn(2, 3, 28, 28)
    before, _ = alone(model, maps)
    other = Epir(preset("epir", **SMALL)).eval()
    model.load_state_dict(other.state_dict(), assign=True)
    after, answered = alone(model, maps)
    assert answered == 2
    assert not torch.allclose(before, after, atol=1e-3)
    assert torch.allclose(after, other(maps), atol=1e-5)
    assert alone(model.double(), maps.double())[0].dtype == torch.double


def test_keys_of_length_zero_do_not_spoil_the_choice():
    merger = Epir(preset("epir", **SMALL)).blocks[0].merger
    matrix, into = single.look_up(merger, torch.zeros(3, 17, 8))
    assert torch.isfinite(matrix).all()
    assert len(into) == 17


def test_the_best_token_has_the_highest_sum_and_is_never_the_class_token():
    assert single.best_token([0.3, 0.2, 0.15], holder=[1, 2, 2], count=3) == 2
    assert single.best_token([0.3, 0.2, 0.05], holder=[1, 2, 2], count=3) == 1
    assert single.best_token([-1.0, -2.0], holder=[1, 2], count=3) == 1
