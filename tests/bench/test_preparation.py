from epir.bench.preparation import HEIGHT, WIDTH, draw_clip, measure
from epir.flow.recipe import RECIPES, get_recipe
from epir.frames.reader import open_frames
from epir.maps.prepare import prepare_clip


def test_the_clip_has_two_key_frames_of_a_face_that_moves(tmp_path):
    clip = draw_clip(tmp_path)
    frames = open_frames(tmp_path)
    assert frames.numbers == (clip.onset, clip.apex)
    assert frames.read(clip.onset).shape == (HEIGHT, WIDTH, 3)
    assert abs(prepare_clip(clip, get_recipe()).map[:2]).max() > 0.05


def test_every_recipe_is_measured_and_the_default_has_a_target():
    ratios = measure(quick=True)
    assert len(ratios) == len(RECIPES)
    assert [ratio.target for ratio in ratios] == [25.0, None, None]
    assert all(ratio.value > 0 for ratio in ratios)
