import pytest

from epir.frames.film import write_film
from epir.frames.reader import open_frames
from epir.recognition.answer import NOT_FOUND, Answer
from epir.recognition.batch import answer_all, gather_inputs


@pytest.fixture
def files(tmp_path):
    for name in ("a.mp4", "b.mp4", "on.png", "ap.png", "one.png"):
        (tmp_path / name).touch()
    return tmp_path


def test_patterns_are_expanded_and_pictures_paired(files):
    paths = {name: str(files / name) for name in ("*.mp4", "a.mp4", "b.mp4", "on.png", "ap.png", "one.png", "*.avi")}
    gathered = gather_inputs([paths[name] for name in ("*.mp4", "on.png", "ap.png", "*.avi", "one.png")])
    pair = (paths["on.png"], paths["ap.png"])
    assert gathered == [paths["a.mp4"], paths["b.mp4"], pair, paths["*.avi"], paths["one.png"]]


def test_a_lone_picture_and_an_empty_pattern_are_separate_errors(recognizer, files):
    batch = answer_all(recognizer, [str(files / "*.avi"), str(files / "one.png")])
    empty, lone = (error.problem for _, error in batch.errors)
    assert "there is no folder or video" in empty
    assert "is one picture, not a clip" in lone


def test_one_failed_input_spares_the_others(recognizer, video, tmp_path):
    batch = answer_all(recognizer, [str(tmp_path / "gone.mp4"), str(video)], out=tmp_path / "out")
    assert [answer.input for answer in batch.answers] == [str(video)]
    assert [name for name, _ in batch.errors] == [str(tmp_path / "gone.mp4")]
    assert (tmp_path / "out" / "smile" / "why.png").exists()
    values = batch.to_dict()
    assert values["answers"][0]["movements"][0]["apex"] == batch.answers[0].apex
    assert values["errors"][0]["fix"] == "check the path"


def test_inputs_of_one_name_get_separate_folders(recognizer, still, tmp_path):
    video = str(write_film(tmp_path / "rest.mp4", still[:8], 60))
    batch = answer_all(recognizer, [video, video], out=tmp_path / "out")
    assert not batch.errors
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["rest", "rest-2"]


def test_folders_with_a_dot_keep_their_names(recognizer, folder, tmp_path):
    for name in ("spNO.1_a_355", "spNO.2_b_10"):
        (tmp_path / name).symlink_to(folder)
    batch = answer_all(recognizer, [str(tmp_path / "spNO.*")], out=tmp_path / "out", fps=60, explain=False)
    assert not batch.errors
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["spNO.1_a_355", "spNO.2_b_10"]
    for path in (tmp_path / "out").iterdir():
        assert {f"{path.name}.eaf", f"{path.name}.TextGrid"} <= {each.name for each in path.iterdir()}
        assert (path / "megc.csv").read_text().splitlines()[1].startswith(f"{path.name},")


def test_a_part_of_a_folder_is_written_at_the_given_rate(recognizer, folder, tmp_path):
    batch = answer_all(recognizer, [str(folder)], out=tmp_path / "out", fps=30, start=0.1, end=1.0)
    assert not batch.errors
    assert (tmp_path / "out" / "smile" / "answer.json").exists()
    with open_frames(tmp_path / "out" / "smile" / "annotated.mp4") as film:
        assert len(film) == 28  # at 100 a second it would have 39


class Scripted:
    """A recognizer that answers each input, or raises the next error of its script."""

    def __init__(self, *script):
        self.script = list(script)

    def predict(self, source, **options):
        error = self.script.pop(0)
        if error is not None:
            raise error
        return Answer(source, NOT_FOUND)


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), SystemExit(143)])
def test_answers_that_were_ready_are_kept_when_a_batch_is_stopped(stop):
    batch = answer_all(Scripted(None, None, stop), ["a", "b", "c", "d"])
    assert [answer.input for answer in batch.answers] == ["a", "b"]
    assert batch.stopped is stop and batch.to_dict()["stopped"] is True


def test_a_system_error_on_one_input_spares_the_others():
    batch = answer_all(Scripted(OSError(5, "Input/output error", "a"), None), ["a", "b"])
    assert [answer.input for answer in batch.answers] == ["b"]
    assert [(name, error.problem) for name, error in batch.errors] == [("a", "a: the disk reports an error")]


def test_an_existing_folder_is_refused_before_its_input_is_read(tmp_path):
    (tmp_path / "out" / "a").mkdir(parents=True)
    (tmp_path / "out" / "a" / "img1.png").write_bytes(b"mine")
    for force in (False, True):
        batch = answer_all(Scripted(), ["a"], out=tmp_path / "out", force=force)
        assert "that epir made" in batch.errors[0][1].problem
    assert (tmp_path / "out" / "a" / "img1.png").read_bytes() == b"mine"
