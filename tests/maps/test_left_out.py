from epir.core.errors import FrameError
from epir.core.records import Clip
from epir.maps.left_out import LeftOut, read_left_out, write_left_out

CLIP = Clip("casme2", "sub16", "EP01_08", "others")


def test_the_list_survives_being_written(tmp_path):
    clips = [
        LeftOut.because(CLIP, FrameError('no frame 110, "here"', fix="look,\nthen correct")),
        LeftOut.because(CLIP, OSError("disk on fire")),
    ]
    assert clips[0].fix == "look, then correct"
    assert (clips[1].problem, clips[1].fix) == ("disk on fire", "look at the frames of this clip")
    write_left_out(tmp_path, clips)
    assert read_left_out(tmp_path) == tuple(clips)
    assert (tmp_path / "left_out.csv").read_text().startswith("corpus,subject,clip,problem,fix\n")
    assert clips[0].key == CLIP.key


def test_a_set_from_elsewhere_has_no_list(tmp_path):
    assert read_left_out(tmp_path) == ()
    assert read_left_out(None) == ()
