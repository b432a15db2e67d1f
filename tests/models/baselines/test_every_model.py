"""Every registered model goes through the same trials."""

import numpy as np
import pytest
import torch

from epir.core.errors import ConfigError, TrainingError
from epir.models.registry import build, create_model, find_method, list_models, model_settings
from epir.models.settings import NAMED

NETWORKS = [name for name in list_models() if find_method(name).kind == "network"]
ON_MAPS = [name for name in list_models() if name not in NETWORKS and name != "lbp-top"]  # which reads frames

# smaller sizes of what would take seconds a step; the models not named here are tried as they are
SMALL = {
    **{name: {"width": 48, "feed_forward": 64, "blocks": 5} for name in NAMED if name in NETWORKS},
    "off-apexnet": {"width": 64},
    "dual-inception": {"width": 64},
    "capsulenet": {"width": 8},
    "htnet": {"width": 12, "blocks": (1, 1, 1), "map_size": 56},  # 4 patches in a block: attention has a choice
    "resnet18-flow": {"width": 8},
    "featref": {"width": 32, "own_width": 8},
}
IMPOSSIBLE = [
    ("ststnet", {"map_size": 4}, r"ststnet cannot take 4 px maps\n  fix: use maps of 8 px or more, for example 28"),
    ("ststnet", {"classes": 1}, "ststnet cannot classify 1 classes\n  fix: set classes to 2 or more"),
    ("ststnet", {"dropout": 1.0}, "dropout cannot be 1.0\n  fix: use 0 or more and less than 1"),
    ("capsulenet", {"map_size": 14}, "capsulenet cannot take 14 px maps\n  fix: use maps of 19 px"),
    ("capsulenet", {"routings": 0}, "routings cannot be 0\n  fix: use 1 or more"),
    ("rcn-a", {"map_size": 20}, "rcn-a cannot pool a 20 px map to 5 places per side\n  fix: set pool to at most 4"),
    ("htnet", {"map_size": 42}, "cannot divide a 42 px map into 7 px patches in 3 levels\n  fix: .*multiple of 28"),
    ("htnet", {"blocks": ()}, "needs at least one level of blocks\n  fix: for example"),
    ("htnet", {"width": 2}, "3 heads do not fit in a width of 2\n  fix: use fewer heads"),
    ("bi-woof", {"grid": 40}, "cannot divide a 28 px map into 40 x 40 blocks\n  fix: set grid to at most 28"),
    ("bi-woof", {"cost": 0.0}, "cost cannot be 0.0\n  fix: use more than 0"),
    ("bi-woof", {"normalise": "squash"}, "normalise cannot be 'squash'\n  fix: use one of: map, none"),
    ("mdmo", {"bins": 1}, "bins cannot be 1\n  fix: use 2 or more"),
    ("mdmo", {"balance": 1.5}, "balance cannot be 1.5\n  fix: use 0 or more and 1 or less"),
    ("lbp-top", {"length": 8}, "8 frames are too few for a reach of 4 frames\n  fix: set length to 9 or more"),
    ("lbp-top", {"grid": 139}, "a 140 px face is too small for 139 x 139 blocks\n  fix: lower grid"),
]


@pytest.mark.parametrize(("name", "changes", "words"), IMPOSSIBLE)
def test_what_cannot_work_is_refused_before_anything_is_built(name, changes, words):
    with pytest.raises(ConfigError, match=words):
        model_settings(name, **changes)


def small(name, **changes):
    torch.manual_seed(0)
    return create_model(name, **(SMALL.get(name, {}) | changes))


def maps_for(model, clips=4, seed=0):
    size = model.settings.map_size
    return torch.randn(clips, 3, size, size, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("classes", [2, 3, 5, 7])
def test_logits_and_features_have_the_right_shapes(name, classes):
    model = small(name, classes=classes).eval()
    maps = maps_for(model)
    assert model(maps).shape == (4, classes)
    features = model.forward_features(model.normalise(maps))
    assert features.ndim == 2 and len(features) == 4
    torch.testing.assert_close(model.forward_head(features), model(maps))


@pytest.mark.parametrize("name", NETWORKS)
def test_a_clip_is_told_the_same_alone_and_in_company(name):
    model = small(name).eval()
    maps = maps_for(model, clips=5)
    with torch.no_grad():
        together = model(maps)
        alone = torch.cat([model(one[None]) for one in maps])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_reach_every_parameter(name):
    model = small(name)
    model.loss(maps_for(model, clips=6), torch.tensor([0, 1, 2, 0, 1, 2])).backward()
    unreached = [part for part, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()]
    assert unreached == []


@pytest.mark.parametrize("name", NETWORKS)
def test_the_loss_takes_smoothing_and_class_weights(name):
    model = small(name).eval()
    maps, labels = maps_for(model, clips=6), torch.tensor([0, 1, 2, 0, 1, 2])
    plain = model.loss(maps, labels)
    assert plain.shape == () and plain > 0
    torch.testing.assert_close(model.loss(maps, labels, weights=torch.ones(3)), plain)
    assert model.loss(maps, labels, weights=torch.tensor([9.0, 1.0, 1.0])) != plain
    assert model.loss(maps, labels, smoothing=0.2) != plain


@pytest.mark.parametrize("name", NETWORKS)
def test_a_planted_signal_is_learned(name, planted):
    model = small(name)
    maps, labels = (torch.from_numpy(part) for part in planted(size=model.settings.map_size))
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    first = model.train().loss(maps, labels).item()
    for step in range(120):
        optimiser.zero_grad()
        loss = model.train().loss(maps, labels)
        loss.backward()
        optimiser.step()
        if step % 10 == 9:
            with torch.no_grad():
                right = (model.eval()(maps).argmax(dim=1) == labels).float().mean()
            if right == 1:
                break
    assert right == 1 and loss < first, f"{right:.0%} after {step + 1} steps, loss {first:.3f} -> {loss.item():.3f}"


@pytest.mark.parametrize("name", NETWORKS)
def test_the_same_seed_gives_the_same_model(name):
    one, other = small(name).eval(), small(name).eval()
    maps = maps_for(one)
    assert torch.equal(one(maps), other(maps))
    assert torch.equal(one(maps), one(maps))


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("size", [56, 112])
def test_larger_maps_fit(name, size):
    model = small(name, map_size=size).eval()
    assert model(maps_for(model, clips=1)).shape == (1, 3)


@pytest.mark.parametrize("name", ["ststnet", "off-apexnet", "dual-inception", "resnet18-flow", "featref"])
@pytest.mark.parametrize("size", [8, 14, 29, 31])
def test_odd_and_small_maps_fit_where_layers_allow(name, size):
    model = small(name, map_size=size).eval()
    assert model(maps_for(model, clips=2)).shape == (2, 3)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_still_face_gives_an_answer(name):
    model = small(name).eval()
    size = model.settings.map_size
    assert torch.isfinite(model(torch.zeros(2, 3, size, size))).all()


@pytest.mark.parametrize("name", ON_MAPS)
def test_estimators_learn_a_planted_signal_and_tell_new_clips(name, planted):
    estimator = build(model_settings(name))
    maps, labels = planted(seed=0)
    estimator.fit(maps, labels, seed=0)
    for seed in (0, 1):
        maps, labels = planted(seed=seed)
        scores = estimator.predict(maps)[1]
        assert scores.shape == (48, 3)
        np.testing.assert_allclose(scores.sum(axis=1), 1)
        np.testing.assert_array_equal(scores.argmax(axis=1), labels)


@pytest.mark.parametrize("name", ON_MAPS)
def test_estimators_give_the_same_again_alone_and_in_company(name, planted):
    maps, labels = planted()
    scores = []
    for seed in (0, 1):
        estimator = build(model_settings(name, cost=10.0, balanced=True))
        estimator.fit(maps, labels, seed=seed)
        scores.append(estimator.predict(maps)[1])
    np.testing.assert_array_equal(*scores)
    np.testing.assert_allclose(np.concatenate([estimator.predict(one[None])[1] for one in maps]), scores[0], rtol=1e-9)


@pytest.mark.parametrize("name", ON_MAPS)
@pytest.mark.parametrize("classes", [2, 5, 7])
def test_estimators_score_every_class_also_those_never_seen(name, classes, planted):
    maps, labels = planted(clips=4 * classes, classes=classes)
    estimator = build(model_settings(name, classes=classes))
    estimator.fit(maps, labels)
    np.testing.assert_array_equal(estimator.predict(maps)[1].argmax(axis=1), labels)
    wider = build(model_settings(name, classes=classes + 1))
    wider.fit(maps, labels)
    scores = wider.predict(maps)[1]
    assert scores.shape == (len(maps), classes + 1)
    assert (scores[:, -1] == 0).all()
    assert wider.predict(maps[:0])[1].shape == (0, classes + 1)


@pytest.mark.parametrize("name", ON_MAPS)
def test_estimators_must_be_fitted_first(name, planted):
    with pytest.raises(TrainingError, match="has not been fitted\n  fix: call fit"):
        build(model_settings(name)).predict(planted()[0])


@pytest.mark.slow
def test_htnet_at_full_size_takes_a_step(planted):
    torch.manual_seed(0)
    model = create_model("htnet")
    maps, labels = (torch.from_numpy(part) for part in planted(clips=6))
    before = model.loss(maps, labels)
    before.backward()
    torch.optim.SGD(model.parameters(), lr=1e-3).step()
    assert model.loss(maps, labels) < before
