import json
import sys
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from skimage.data import astronaut

from epir.cli.main import main
from epir.maps.mapset import load_maps


@pytest.fixture
def epir(monkeypatch, capsys):
    """Runs the command in this process: a new one would import OpenCV each time."""

    def run(*words, cwd):
        monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "argv", ["epir", *words])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsys.readouterr()
        return SimpleNamespace(returncode=end.value.code or 0, stdout=printed.out, stderr=printed.err)

    return run


@pytest.fixture
def own(tmp_path):
    """A manifest of three clips: a face that moves a little, one without an apex, and a grey wall."""
    head = cv2.cvtColor(np.ascontiguousarray(astronaut()[40:220, 130:320]), cv2.COLOR_RGB2BGR)
    for clip in ("smile", "open", "wall"):
        folder = tmp_path / "frames" / clip
        folder.mkdir(parents=True)
        for number in range(3):
            frame = np.roll(head, number, axis=0) if clip != "wall" else np.full_like(head, 99)
            cv2.imwrite(str(folder / f"{number + 10}.png"), frame)
    rows = ["clip,subject,emotion,frames,onset,apex,offset,fps"]
    rows += [
        f"{clip},p1,positive,frames/{clip},10,{apex},12,100"
        for clip, apex in (("smile", 11), ("open", ""), ("wall", 11))
    ]
    (tmp_path / "own.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


def test_a_manifest_becomes_a_map_set(own, epir):
    words = ("prepare", "manifest", "own.csv", "--out", "maps", "--workers", "1", "--set", "flow.size=84")
    answer = epir(*words, "--contact-sheet", "--json", cwd=own)
    assert answer.returncode == 0, answer.stderr
    told = json.loads(answer.stdout)
    assert (told["corpus"], told["clips"], told["people"], told["size"]) == ("manifest", 2, 1, 28)
    assert told["apex"] == {"annotated": 1, "spotted": 1}
    assert told["recipe"]["changed"] == ["flow.size: 168 -> 84"]
    assert [row["clip"] for row in told["left_out"]] == ["manifest/p1/wall"]
    assert "no face was found" in told["left_out"][0]["problem"]
    assert "preparing manifest: 3/3" in answer.stderr
    maps = load_maps(own / "maps")
    assert maps.meta["recipe"]["digest"] == told["recipe"]["digest"]
    assert (own / told["contact_sheets"] / "manifest_p1.png").is_file()

    again = epir(*words, cwd=own)
    assert again.returncode == 0, again.stderr
    assert "maps: 2 maps of 1 person, 28 x 28 px" in again.stdout
    assert "flow recipe: epir; flow.size: 168 -> 84" in again.stdout
    assert "apex: 1 annotated, 1 spotted" in again.stdout
    assert "left out manifest/p1/wall: no face" in again.stdout
    assert "preparing manifest: 1/1" in again.stderr  # only the wall is tried again


def test_mistakes_take_two_lines_and_exit_2(own, epir):
    for words, expected in (
        (("--recipe", "epri"), "there is no flow recipe 'epri'\nfix: did you mean 'epir'?\n"),
        (("--set", "flow.sise=3"), "[flow] has no setting 'sise'\nfix: did you mean 'size'?\n"),
        (("--apex", "first"), "apex cannot be 'first'\nfix: use one of: spotted, middle\n"),
    ):
        answer = epir("prepare", "manifest", "own.csv", "--out", "maps", *words, cwd=own)
        assert (answer.returncode, answer.stderr) == (2, expected)
    strict = epir("prepare", "manifest", "own.csv", "--out", "maps", "--workers", "1", "--strict", cwd=own)
    assert strict.returncode == 2
    assert "1 of the 3 clips could not be prepared; manifest/p1/wall: no face" in strict.stderr
    assert strict.stderr.splitlines()[-1].startswith("fix: ")
    assert not (own / "maps").exists()
