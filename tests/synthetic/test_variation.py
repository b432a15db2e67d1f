import numpy as np
import pytest

from epir.core.errors import ConfigError
from epir.core.seeds import generator
from epir.synthetic.direct import DirectSettings, direct_flow
from epir.synthetic.drawing.canvas import Canvas
from epir.synthetic.expressions import ActiveUnit
from epir.synthetic.identity import Geometry
from epir.synthetic.maps import MapSettings, make_maps
from epir.synthetic.movement import draw_movement
from epir.synthetic.variation import USUAL, Preprocessing, Variation, draw_preprocessing, draw_share, jpeg_compressed

QUICK = "epir:flow.size=56,flow.context=0.0"
STILL = (1e-6, 2e-6)
QUIET = DirectSettings(STILL, STILL, STILL, STILL, STILL, mask=0, gaze=0)


def test_without_variation_maps_are_unchanged():
    assert draw_preprocessing(Variation(), 3, "s3-000001") == USUAL
    assert draw_share(Variation(), 3, 5) == 1.0


def test_departures_have_their_probability():
    variation = Variation(crop=0.3, apex=0.6, jpeg=0.2)
    ways = [draw_preprocessing(variation, 0, f"s0-{number:06d}") for number in range(600)]
    shares = [draw_share(variation, 0, number) for number in range(600)]
    for share, chance in (
        (np.mean([way.zoom != 1 for way in ways]), 0.3),
        (np.mean([way.quality is not None for way in ways]), 0.2),
        (np.mean([share < 1 for share in shares]), 0.6),
    ):
        assert share == pytest.approx(chance, abs=4 * (chance * (1 - chance) / 600) ** 0.5)


@pytest.mark.parametrize("recipe", ["direct", QUICK])
def test_varied_maps_differ_and_say_so(recipe):
    plain = make_maps(MapSettings(8, (recipe,)))
    varied = make_maps(MapSettings(8, (recipe,), variation=Variation(crop=1.0)))
    assert not any(np.array_equal(one, other) for one, other in zip(plain.maps, varied.maps, strict=True))
    assert [clip.extra["action_units"] for clip in plain.clips] == [c.extra["action_units"] for c in varied.clips]
    assert "variation" not in plain.meta["recipe"] and varied.meta["recipe"]["variation"]["crop"] == 1.0


def test_a_face_lower_in_the_crop_moves_lower_in_the_map_and_a_larger_one_has_its_mouth_further_out():
    def smile(way):
        random = generator(0, "smile")
        movement = draw_movement((ActiveUnit(12, 1.0, 1.0),), Geometry(), random)
        return direct_flow(
            28, Geometry(), movement, blink=0, intensity=0.5, random=random, settings=QUIET, preprocessing=way
        )

    def middle(flow, axis):  # of the upward motion of the right half
        up = np.clip(-flow[:, 14:, 1], 0, None)
        return float((up.sum(axis=1 - axis) * np.arange(up.shape[axis])).sum() / up.sum())

    assert middle(smile(Preprocessing(shift=(0.0, 3.0))), 0) == pytest.approx(middle(smile(USUAL), 0) + 3, abs=0.7)
    assert middle(smile(Preprocessing(zoom=1.2)), 1) > middle(smile(USUAL), 1) + 0.5


def test_the_crop_of_the_picture_is_that_of_the_field():
    canvas = Canvas.crop(112, zoom=1.2, shift=(1.0, -2.0))
    assert canvas.scale == pytest.approx(1.2 * 4)
    assert (canvas.column(-1.0), canvas.row(13.5 + 2.0)) == pytest.approx((55.5, 55.5)), "the centre of the crop"
    assert Canvas.crop(112, 14, zoom=1.0, shift=(0.0, 0.0)) == Canvas.crop(112, 14)


def test_half_of_an_expression_is_half_as_clear():
    def flow(share):
        random = generator(1, "share")
        movement = draw_movement((ActiveUnit(12, 1.0, 1.0),), Geometry(), random)
        return direct_flow(28, Geometry(), movement, blink=0, intensity=0.5, random=random, settings=QUIET, share=share)

    np.testing.assert_allclose(flow(0.5), 0.5 * flow(1.0), atol=1e-4)


def test_compression_changes_a_picture_a_little():
    picture = generator(0, "picture").integers(90, 120, (64, 64, 3)).astype(np.uint8)
    assert jpeg_compressed(picture, None) is picture
    strong, weak = jpeg_compressed(picture, 40), jpeg_compressed(picture, 90)
    lost = [float(np.abs(each.astype(int) - picture).mean()) for each in (strong, weak)]
    assert strong.shape == picture.shape and lost[0] > lost[1] > 0


@pytest.mark.parametrize("name", ["crop", "apex", "jpeg"])
def test_probabilities_are_checked(name):
    with pytest.raises(ConfigError, match=rf"variation.{name} cannot be 2\n  fix: give a probability from 0 to 1"):
        Variation(**{name: 2})
