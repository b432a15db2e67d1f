import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import openpyxl
import pytest

from epir.core.errors import ConfigError, DatasetError, EpirWarning, FaceNotFound, FrameError, MissingExtra
from epir.core.records import Clip
from epir.datasets.base import Corpus
from epir.faces.align import Crop
from epir.flow.recipe import flow_recipe
from epir.maps import prepare as prepare_module
from epir.maps.mapset import load_maps
from epir.maps.prepare import prepare, prepare_clip
from epir.maps.resume import FinishedClips, read_left_out


class Counted:
    """Progress that remembers what it was told."""

    def __init__(self):
        self.started, self.notes = [], []

    def start(self, task, total):
        self.started.append((task, total))

    def advance(self, steps=1, note=""):
        self.notes.append(note)

    def finish(self):
        pass


@pytest.fixture
def done_here(monkeypatch):
    """The clips that are really prepared in this process, by key."""
    keys = []

    def counting(clip, *settings):
        keys.append(clip.key)
        return prepare_clip(clip, *settings)

    monkeypatch.setattr(prepare_module, "prepare_clip", counting)
    return keys


def blind(clip: Clip, number: int) -> None:
    """Paint one frame of a clip grey."""
    picture = cv2.imread(str(clip.frames / f"img{number}.jpg"))
    cv2.imwrite(str(clip.frames / f"img{number}.jpg"), np.full_like(picture, 90))


def cut_short(clip: Clip) -> None:
    """Lose most of the picture of the apex."""
    apex = clip.frames / "img6.jpg"
    apex.write_bytes(apex.read_bytes()[:3000])


def test_a_corpus_becomes_a_map_set(tmp_path, face_clips):
    clips = face_clips(2, 2)
    progress = Counted()
    maps = prepare(clips, None, tmp_path / "maps", workers=1, progress=progress)
    assert maps.maps.shape == (4, 3, 28, 28)
    assert [clip.key for clip in maps.clips] == [clip.key for clip in clips]
    assert progress.started == [("preparing clips", 4)]
    assert progress.notes == [clip.key for clip in clips]
    meta = load_maps(tmp_path / "maps").meta["recipe"]
    assert meta["name"] == "epir"
    assert meta["digest"] == flow_recipe().digest
    assert meta["apex"] == "spotted"
    assert read_left_out(tmp_path / "maps") == ()
    assert np.array_equal(maps.maps[2], prepare_clip(clips[2], flow_recipe()).map)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "maps"]  # nothing is left behind


def test_a_loaded_corpus_is_taken_as_it_is(tmp_path, face_clips):
    corpus = Corpus("drawn", tmp_path, "v1", tuple(face_clips(1, 1)))
    maps = prepare(corpus, None, tmp_path / "maps", size=14, workers=1)
    assert maps.size == 14
    assert (maps.meta["recipe"]["corpus"], maps.meta["recipe"]["sheet"]) == ("drawn", "v1")


def test_the_result_is_the_same_for_any_number_of_workers(tmp_path, face_clips, bytes_in):
    clips = face_clips(2, 2)
    cut_short(clips[1])
    for workers in (1, 2):
        prepare(clips, None, tmp_path / str(workers), workers=workers, detector="none")
    assert bytes_in(tmp_path / "1") == bytes_in(tmp_path / "2")


def test_detector_apex_and_recipe_are_choices_that_are_recorded(tmp_path, long_clip):
    maps = prepare([long_clip], None, tmp_path / "maps", workers=1, recipe="htnet-like", detector="none", apex="middle")
    meta = maps.meta["recipe"]
    assert (meta["face"]["detector"], meta["apex"], meta["strain"]) == ("none", "middle", "magnitude")
    assert maps.clips[0].extra["apex_source"] == "middle"
    assert "stretch=0.947368" in maps.clips[0].extra["crop"]
    with pytest.raises(ConfigError, match=r"face.detector cannot be 'dlib'\n  fix: use one of: mtcnn, none"):
        prepare([long_clip], None, tmp_path / "other", detector="dlib")


@pytest.fixture
def troubled(face_clips):
    """Six clips, of which four cannot be prepared, each for its own reason."""
    clips = face_clips(2, 3)
    blind(clips[1], 1)
    clips[2] = replace(clips[2], apex=8)
    cut_short(clips[3])
    for picture in clips[4].frames.iterdir():
        picture.unlink()
    return clips


def test_a_clip_that_fails_stops_no_other_and_is_listed(tmp_path, troubled):
    progress = Counted()
    maps = prepare(troubled, None, tmp_path / "maps", workers=1, progress=progress)
    assert [clip.key for clip in maps.clips] == ["drawn/s0/c0", "drawn/s1/c2"]
    reasons = {clip.key: clip.problem for clip in read_left_out(tmp_path / "maps")}
    assert list(reasons) == ["drawn/s0/c1", "drawn/s0/c2", "drawn/s1/c0", "drawn/s1/c1"]
    assert "no face was found" in reasons["drawn/s0/c1"]
    assert "has no frame 8: it holds frames 1 to 6" in reasons["drawn/s0/c2"]
    assert "img6.jpg is cut short" in reasons["drawn/s1/c0"]
    assert "holds no numbered pictures" in reasons["drawn/s1/c1"]
    assert "drawn/s0/c1 left out" in progress.notes


def test_strict_makes_it_an_error_and_keeps_what_is_done(tmp_path, troubled, done_here):
    words = r"4 of 6 clips could not be prepared; drawn/s0/c1: no face was found .*\n  fix: look at the frame"
    with pytest.raises(DatasetError, match=words):
        prepare(troubled, None, tmp_path / "maps", workers=1, strict=True)
    assert not (tmp_path / "maps").exists()
    done_here.clear()
    maps = prepare(troubled, None, tmp_path / "maps", workers=1)
    assert len(maps) == 2
    assert len(done_here) == 4  # the two good ones are not done again


def test_a_second_call_does_what_is_missing_and_nothing_else(tmp_path, troubled, done_here, bytes_in):
    first = prepare(troubled, None, tmp_path / "maps", workers=1)
    before = bytes_in(tmp_path / "maps")
    done_here.clear()
    prepare(troubled, None, tmp_path / "maps", workers=1)
    assert len(done_here) == 4
    assert bytes_in(tmp_path / "maps") == before

    good = troubled[5].frames
    for number in (1, 6):  # the empty folder is filled again
        (troubled[4].frames / f"img{number}.jpg").write_bytes((good / f"img{number}.jpg").read_bytes())
    done_here.clear()
    maps = prepare(troubled, None, tmp_path / "maps", workers=1)
    assert len(done_here) == 4
    assert [clip.clip for clip in maps.clips] == ["c0", "c1", "c2"]
    assert np.array_equal(maps.maps[0], first.maps[0])
    assert len(read_left_out(tmp_path / "maps")) == 3

    prepare(troubled, None, tmp_path / "fresh", workers=1)
    assert bytes_in(tmp_path / "maps") == bytes_in(tmp_path / "fresh")


def test_clips_finished_before_a_kill_join_a_set_that_is_there(tmp_path, troubled, done_here):
    prepare(troubled, None, tmp_path / "maps", workers=1)
    for number in (1, 6):
        (troubled[4].frames / f"img{number}.jpg").write_bytes((troubled[5].frames / f"img{number}.jpg").read_bytes())
    settings = prepare_module.request_digest(flow_recipe(), 28, ())
    _, done = prepare_module.prepare_one(troubled[4], flow_recipe(), 28)
    FinishedClips(tmp_path / "maps", settings).add(done)  # then it was killed
    done_here.clear()
    maps = prepare(troubled, None, tmp_path / "maps", workers=1)
    assert len(maps) == 3
    assert len(done_here) == 3


def test_the_way_to_the_frames_may_be_spelt_differently(tmp_path, face_clips, done_here, monkeypatch):
    clips = face_clips(1, 1)
    prepare(clips, None, tmp_path / "maps", workers=1, detector="none")
    monkeypatch.chdir(tmp_path)
    relative = [replace(clip, frames=clip.frames.relative_to(tmp_path)) for clip in clips]
    prepare(relative, None, tmp_path / "maps", workers=1, detector="none")
    assert len(done_here) == 1


def test_nothing_prepared_is_an_error(tmp_path, face_clips):
    (clip,) = face_clips(1, 1)
    blind(clip, 1)
    with pytest.raises(DatasetError, match=r"none of 1 clip could be prepared; drawn/s0/c0: no face"):
        prepare([clip], None, tmp_path / "maps", workers=1)


def test_impossible_requests_are_refused_before_any_work(tmp_path, face_clips):
    clips = face_clips(1, 1)
    for words, arguments in (
        (r"a map cannot be 2 px wide\n  fix: give --size", {"size": 2}),
        (r"--workers must be at least 1, not 0\n  fix: leave it out", {"workers": 0}),
    ):
        with pytest.raises(ConfigError, match=words):
            prepare(clips, None, tmp_path / "maps", **arguments)
    with pytest.raises(DatasetError, match=r"holds no clips\n  fix: run epir check"):
        prepare([], None, tmp_path / "maps")
    with pytest.raises(DatasetError, match=r"the clip drawn/s0/c0 is listed twice"):
        prepare([*clips, *clips], None, tmp_path / "maps")
    with pytest.raises(DatasetError, match=r"the folder of casme2 is missing\n  fix: give the folder"):
        prepare("casme2", None, tmp_path / "maps")


STUCK_CHILD = """
import pickle, sys, time
from pathlib import Path
from epir.maps import prepare

real = prepare.prepare_one

def stuck(clip, *given):
    if clip.subject == "s1":
        time.sleep(3600)
    return real(clip, *given)

if __name__ == "__main__":
    prepare.prepare_one = stuck
    clips = pickle.loads(Path(sys.argv[1]).read_bytes())
    prepare.prepare(clips, None, sys.argv[2], workers=int(sys.argv[3]), detector="none")
"""


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_preparation_that_is_killed_is_taken_up_again(tmp_path, face_clips, done_here, bytes_in, workers):
    import pickle

    clips = face_clips(2, 3)
    cut_short(clips[1])
    (tmp_path / "clips.pickle").write_bytes(pickle.dumps(clips))
    (tmp_path / "child.py").write_text(STUCK_CHILD)
    command = [sys.executable, "child.py", "clips.pickle", str(tmp_path / "maps"), str(workers)]
    child = subprocess.Popen(command, cwd=tmp_path, start_new_session=True, stderr=subprocess.DEVNULL)

    def finished() -> list[Path]:
        return list(tmp_path.glob(".maps-work/[!.]*.npz"))

    while len(finished()) < 2 and child.poll() is None:
        time.sleep(0.01)
    os.killpg(child.pid, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL, "it was killed in the middle, not at the end"
    assert len(finished()) == 2
    assert not (tmp_path / "maps").exists()

    maps = prepare(clips, None, tmp_path / "maps", workers=1, detector="none")
    assert len(maps) == 5
    assert len(done_here) == 4
    prepare(clips, None, tmp_path / "undisturbed", workers=1, detector="none")
    assert bytes_in(tmp_path / "maps") == bytes_in(tmp_path / "undisturbed")
    assert not list(tmp_path.glob(".*"))


class Killed(Exception):
    """The process ends here."""


@pytest.fixture
def killed_after_five(tmp_path, face_clips, done_here, monkeypatch):
    """Six clips, of which five were prepared when the process was killed."""
    clips = face_clips(2, 3)

    def five(self, work, jobs, *shared, **options):
        yield from (work(job, *shared) for job in jobs[:5])
        raise Killed

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(prepare_module.Engine, "run", five)
        prepare(clips, None, tmp_path / "maps", workers=1, detector="none")
    done_here.clear()
    return clips


def test_a_clip_whose_frames_were_replaced_is_prepared_again(tmp_path, killed_after_five, done_here, bytes_in):
    clips = killed_after_five
    for number in (1, 6):
        (clips[2].frames / f"img{number}.jpg").write_bytes((clips[4].frames / f"img{number}.jpg").read_bytes())
    with pytest.warns(EpirWarning, match=r"^drawn/s0/c2 \(its frames .*\) has changed since: prepared again$"):
        prepare(clips, None, tmp_path / "maps", workers=1, detector="none")
    assert done_here == [clips[2].key, clips[5].key]
    prepare(clips, None, tmp_path / "fresh", workers=1, detector="none")
    assert bytes_in(tmp_path / "maps") == bytes_in(tmp_path / "fresh")


def replace_frames(clip, other):
    for number in (1, 6):
        (clip.frames / f"img{number}.jpg").write_bytes((other.frames / f"img{number}.jpg").read_bytes())


def test_replaced_frames_are_noticed_in_a_finished_set_too(tmp_path, face_clips, done_here, bytes_in):
    clips = face_clips(2, 2)
    first = prepare(clips, None, tmp_path / "maps", workers=1, detector="none")
    before, digest = bytes_in(tmp_path / "maps"), first.digest
    again = prepare(clips, None, tmp_path / "maps", workers=1, detector="none")
    assert (len(done_here), bytes_in(tmp_path / "maps"), again.digest) == (4, before, digest)

    replace_frames(clips[1], clips[3])
    done_here.clear()
    with pytest.warns(EpirWarning, match=r"^drawn/s0/c1 \(its frames .*\) has changed since: prepared again$"):
        maps = prepare(clips, None, tmp_path / "maps", workers=1, detector="none")
    assert done_here == [clips[1].key]
    assert np.array_equal(maps.maps[1], maps.maps[3]) and not np.array_equal(maps.maps[1], maps.maps[0])
    prepare(clips, None, tmp_path / "fresh", workers=1, detector="none")
    assert bytes_in(tmp_path / "maps") == bytes_in(tmp_path / "fresh")

    cut_short(clips[2])  # now it cannot be prepared
    with pytest.warns(EpirWarning, match=r"^drawn/s1/c0 .* has changed since"):
        maps = prepare(clips, None, tmp_path / "maps", workers=1, detector="none")
    assert [clip.key for clip in maps.clips] == [clips[place].key for place in (0, 1, 3)]
    assert [clip.key for clip in read_left_out(tmp_path / "maps")] == [clips[2].key]


def test_an_annotation_that_no_digest_covers_is_noticed_too(tmp_path, face_clips):
    clips = face_clips(1, 2)
    prepare(clips, None, tmp_path / "maps", workers=1, detector="none")
    clips[1] = replace(clips[1], extra={"action_units": "4"})
    with pytest.warns(EpirWarning, match=r"^drawn/s0/c1 .* has changed since"):
        maps = prepare(clips, None, tmp_path / "maps", workers=1, detector="none")
    assert maps.clips[1].extra["action_units"] == "4"


def test_identities_lie_beside_the_maps_and_no_digest_covers_them(tmp_path, face_clips, done_here):
    clips = face_clips(1, 2)
    first = prepare(clips, None, tmp_path / "maps", workers=1, detector="none")
    inputs = tmp_path / "maps" / "inputs.csv"
    assert [line.partition(",")[0] for line in inputs.read_text().splitlines()] == [
        "clip",
        "drawn/s0/c0",
        "drawn/s0/c1",
    ]
    inputs.unlink()  # as in the sets of earlier versions
    assert load_maps(tmp_path / "maps").meta == first.meta
    replace_frames(clips[0], clips[1])
    done_here.clear()
    assert np.array_equal(prepare(clips, None, tmp_path / "maps", workers=1, detector="none").maps, first.maps)
    assert done_here == []


def test_a_set_does_not_need_its_corpus(tmp_path, face_clips, done_here):
    clips = face_clips(1, 2)
    first = prepare(clips, None, tmp_path / "maps", workers=1, detector="none")
    for folder in (tmp_path / "corpus").iterdir():
        shutil.rmtree(folder)
    shutil.copytree(tmp_path / "maps", tmp_path / "elsewhere")
    assert load_maps(tmp_path / "elsewhere").digest == first.digest
    assert len(prepare(clips, None, tmp_path / "maps", workers=1, detector="none")) == len(done_here) == 2


def test_a_damaged_picture_that_is_no_key_frame_only_gets_a_note(tmp_path, long_clip):
    picture = long_clip.frames / "img3.jpg"
    picture.write_bytes(picture.read_bytes()[:-3000])
    maps = prepare([long_clip], None, tmp_path / "maps", workers=1)
    assert maps.clips[0].apex in (5, 6, 7)
    assert maps.clips[0].extra["notes"].startswith("1 picture cannot be opened: frame 3, and left out: ")
    assert read_left_out(tmp_path / "maps") == ()


def test_a_clip_becomes_a_map_that_knows_where_it_comes_from(face_clips):
    (clip,) = face_clips(1, 1)
    done = prepare_clip(clip, flow_recipe(), 28)
    assert done.map.shape == (3, 28, 28)
    assert done.map.dtype == np.float32
    assert done.clip.extra["frames"] == str(clip.frames)
    assert done.clip.extra["apex_source"] == "annotated"
    assert 80 < Crop.from_text(done.clip.extra["crop"]).side < 90
    assert (done.clip.onset, done.clip.apex, done.clip.offset, done.clip.fps) == (1, 6, 9, 200.0)
    assert done.map[1, 2:6, 4:9].mean() < -0.2  # the brow goes up


def test_an_apex_that_is_not_annotated_is_found_as_the_recipe_says(long_clip):
    spotted = prepare_clip(long_clip, flow_recipe()).clip
    assert (spotted.extra["apex_source"], spotted.apex in (5, 6, 7)) == ("spotted", True)
    middle = prepare_clip(long_clip, flow_recipe("epir", ["apex=middle"])).clip
    assert (middle.extra["apex_source"], middle.apex) == ("middle", 5)


def test_an_apex_at_the_onset_counts_as_not_annotated(long_clip):
    assert prepare_clip(replace(long_clip, apex=1), flow_recipe()).clip.extra["apex_source"] == "spotted"


def test_without_onset_and_offset_the_whole_clip_is_taken(long_clip):
    done = prepare_clip(replace(long_clip, onset=None, offset=None, fps=None), flow_recipe()).clip
    assert (done.onset, done.offset, done.fps) == (1, 9, None)


def write_video(path: Path, frames) -> Path:
    height, width = frames[0].shape[:2]
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 100, (width, height))
    for frame in frames:
        writer.write(cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))
    writer.release()
    return path


def test_the_videos_of_casme2_give_the_maps_of_its_pictures(tmp_path, rise_and_fall):
    root = tmp_path / "corpus"
    root.mkdir()
    sheet = root / "CASME2-coding-20140508.csv"
    sheet.write_text(
        "Subject;Filename;OnsetFrame;ApexFrame;OffsetFrame;Estimated Emotion\n01;EP02_01f;2;6;9;disgust\n", "utf-16"
    )
    write_video(root / "videos" / "sub01" / "EP02_01f.avi", rise_and_fall)
    for number, frame in enumerate(rise_and_fall, start=1):
        path = root / "raw" / "sub01" / "EP02_01f" / f"img{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(path), cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))
    maps = {
        tree: prepare("casme2", root, tmp_path / "maps" / tree, tree=tree, workers=1).maps[0, :2]
        for tree in ("raw", "video")
    }
    wrong = np.sqrt(((maps["video"] - maps["raw"]) ** 2).sum() / (maps["raw"] ** 2).sum())
    assert wrong < 0.2  # a neighbouring onset and apex differ by more than compression does


def test_an_apex_before_the_onset_is_refused(long_clip):
    with pytest.raises(FrameError, match=r"the apex 2 is before the onset 4\n  fix: correct"):
        prepare_clip(replace(long_clip, onset=4, apex=2), flow_recipe())


def test_no_frames_and_no_face_are_told(tmp_path, long_clip):
    with pytest.raises(FrameError, match=r"drawn/s9/long has no frames\n  fix: run epir check"):
        prepare_clip(replace(long_clip, frames=None), flow_recipe())
    for number in (1, 2):
        cv2.imwrite(str(tmp_path / f"img{number}.png"), np.full((60, 80, 3), 99, np.uint8))
    with pytest.raises(FaceNotFound, match=r"no face was found"):
        prepare_clip(replace(long_clip, frames=tmp_path, apex=2), flow_recipe())


def test_a_missing_extra_stops_everything_at_once(tmp_path, face_clips, monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage.registration", None)
    with pytest.raises(MissingExtra, match=r'fix: pip install -c constraints.txt ".\[tvl1\]"'):
        prepare(face_clips(1, 2), None, tmp_path / "maps", workers=1, recipe="ststnet-like")
    assert not (tmp_path / "maps").exists()


def test_a_layout_without_frames_is_refused_before_any_work(tmp_path):
    clips = (Clip("casme2", "sub01", "EP02_01f", "disgust", 1, 2, 3),)
    corpus = Corpus("casme2", tmp_path, "2014", clips, layout="frames are expected as a/b; found instead: c.zip")
    with pytest.raises(
        DatasetError, match=r"expected as a/b; found instead: c.zip\n  fix: arrange .*epir check casme2"
    ):
        prepare(corpus, None, tmp_path / "maps")


SHEETS = {
    "samm-lv": (
        "SAMM_LongVideos_V3_Release.csv",
        "Subject,Filename,Onset,Apex,Offset,Type,Action Units\n"
        "006,006_1_2,1,6,6,Micro - 1/2,12\n006,006_1_3,1,6,6,Macro,4\n",
        "SAMM_longvideos/006_1",
        "samm/006/006_1_2",
    ),
    "casme-sq": (
        "CAS(ME)^2code_final.csv",
        "1,anger1_1,1,6,6,4+15,negative,micro-expression,disgust\n1,anger1_2,1,6,0,4,negative,macro-expression,pain\n",
        "rawpic/s15/15_0401girlcrashing",
        "casme-sq/s15/anger1_1",
    ),
    "dfme": (
        "DFME_train.csv",
        "Subject,Filename,OnsetFrame,ApexFrame,OffsetFrame,Emotion,Fps,AU\nsub0003,sub0003_01,1,6,6,fear,300,4+AD38\n",
        "train_data/sub0003_01",
        "dfme/sub0003/sub0003_01",
    ),
}


@pytest.mark.parametrize("corpus", SHEETS)
def test_micro_clips_of_the_newer_corpora_become_maps(tmp_path, face_clips, corpus):
    name, text, place, key = SHEETS[corpus]
    (clip,) = face_clips(1, 1)
    root = tmp_path / "root"
    (root / place).parent.mkdir(parents=True)
    clip.frames.rename(root / place)
    (root / name).write_text(text)
    maps = prepare(corpus, root, tmp_path / "maps", workers=1)
    assert [one.key for one in maps.clips] == [key]
    assert float(np.abs(maps.maps[0]).max()) > 0.1
    assert maps.meta["recipe"]["corpus"] == corpus
    if corpus == "dfme":
        assert (maps.clips[0].extra["split"], maps.clips[0].fps, maps.clips[0].extra["action_units"]) == (
            "train",
            300.0,
            "4",
        )


def test_annotations_that_cannot_be_meant_are_left_out_in_the_words_of_check(tmp_path, face_clips):
    (clip,) = face_clips(1, 1)
    rows = [
        f"{name},{subject},joy,{clip.frames},{numbers}"
        for name, subject, numbers in (
            ("good", "s1", "1,6,9,25,"), ("onset", "s1", "abc,6,9,25,"), ("rate", "s1", '1,6,9,"59,94",'),
            ("order", "s1", "6,,1,25,"), ("apex", "s1", "1,12.5,9,25,"), ("units", "s1", "1,6,9,25,banana"),
        )
    ]  # fmt: skip
    path = tmp_path / "m.csv"
    path.write_text("\n".join(["clip,subject,emotion,frames,onset,apex,offset,fps,action_units", *rows]) + "\n")
    maps = prepare("manifest", path, tmp_path / "maps", workers=1, detector="none")
    assert [clip.clip for clip in maps.clips] == ["good", "units"]
    assert maps.clips[1].extra["notes"].startswith("the action units 'banana' do not exist")
    assert [(one.clip, one.problem) for one in read_left_out(tmp_path / "maps")] == [
        ("onset", "the onset is 'abc', which is not a frame number"),
        ("rate", "the fps is '59,94', which is not a frame rate (write a decimal point: 59.94)"),
        ("order", "the offset 1 is before the onset 6"),
        ("apex", "the apex is '12.5', which is not a frame number"),
    ]
    with pytest.raises(DatasetError, match=r"4 of 6 clips could not be prepared; manifest/s1/onset: the onset is"):
        prepare("manifest", path, tmp_path / "others", workers=1, detector="none", strict=True)


def test_what_a_sheet_lacks_is_noted(tmp_path, face_clips):
    (clip,) = face_clips(1, 1)
    book = openpyxl.Workbook()
    header = ("Subject", "Filename", None, "OnsetFrame", "ApexFrame", "OffsetFrame", None, "Action Units")
    book.active.append([*header, "Estimated Emotion"])
    book.active.append(["01", "EP01_01", None, "/", 6, 9, None, 4, "hapiness"])
    (tmp_path / "c").mkdir()
    book.save(tmp_path / "c" / "CASME2-coding-20140508.xlsx")
    there = tmp_path / "c" / "Cropped" / "sub01" / "EP01_01"
    there.mkdir(parents=True)
    for picture in clip.frames.iterdir():
        shutil.copy(picture, there / picture.name)
    maps = prepare("casme2", tmp_path / "c", tmp_path / "maps", workers=1, detector="none")
    notes = maps.clips[0].extra["notes"]
    assert "the sheet gives no onset" in notes and "the emotion 'hapiness' is not one of" in notes
