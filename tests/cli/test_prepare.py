import json

import cv2
import numpy as np
import pytest
from skimage.data import astronaut

from epir.maps.mapset import load_maps
from epir.models.registry import create_model


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """A manifest of three clips here: a face that moves a little, one without an apex, and a grey wall."""
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
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_manifest_becomes_a_map_set(corpus, epir):
    words = ("prepare", "manifest", "own.csv", "--out", "maps", "--workers", "1", "--set", "flow.size=84")
    answer = epir(*words, "--contact-sheet", "--json")
    assert answer.code == 0, answer.err
    summary = json.loads(answer.out)
    assert (summary["corpus"], summary["clips"], summary["people"], summary["size"]) == ("manifest", 2, 1, 28)
    assert summary["apex"] == {"annotated": 1, "spotted": 1}
    assert summary["recipe"]["changed"] == ["flow.size: 168 -> 84"]
    assert [row["clip"] for row in summary["left_out"]] == ["manifest/p1/wall"]
    assert "no face was found" in summary["left_out"][0]["problem"]
    assert "preparing manifest: 3/3" in answer.err
    maps = load_maps(corpus / "maps")
    assert maps.meta["recipe"]["digest"] == summary["recipe"]["digest"]
    assert (corpus / summary["contact_sheets"] / "manifest_p1.png").is_file()

    again = epir(*words)
    assert again.code == 0, again.err
    assert "maps: 2 maps of 1 person, 28 x 28 px" in again.out
    assert "flow recipe: epir; flow.size: 168 -> 84" in again.out
    assert "apex: 1 annotated, 1 spotted" in again.out
    assert "left out manifest/p1/wall: no face" in again.out
    assert "preparing manifest: 1/1" in again.err  # only the wall is tried again


def test_mistakes_take_two_lines_and_exit_2(corpus, epir):
    for words, expected in (
        (("--recipe", "epri"), "there is no flow recipe 'epri'\nfix: did you mean 'epir'?\n"),
        (("--set", "flow.sise=3"), "[flow] has no setting 'sise'\nfix: did you mean 'size'?\n"),
        (("--apex", "first"), "apex cannot be 'first'\nfix: use one of: spotted, middle\n"),
    ):
        answer = epir("prepare", "manifest", "own.csv", "--out", "maps", *words)
        assert (answer.code, answer.err) == (2, expected)
    strict = epir("prepare", "manifest", "own.csv", "--out", "maps", "--workers", "1", "--strict")
    assert strict.code == 2
    assert "1 of 3 clips could not be prepared; manifest/p1/wall: no face" in strict.err
    assert strict.err.splitlines()[-1].startswith("fix: ")
    assert not (corpus / "maps").exists()


def test_align_writes_a_map_set_and_says_what_it_did(invoke, noise, tmp_path):
    maps = noise(people=3, clips=2, size=14)
    labels = ("negative", "positive", "surprise")
    model = create_model("ststnet", map_size=14).save_pretrained(tmp_path / "model", labels=labels)
    call = ("align", maps, "--out", tmp_path / "aligned", "--weights", model)
    assert "people); mean best score" in invoke(*call).stdout
    assert load_maps(tmp_path / "aligned").clips == load_maps(maps).clips
    assert sum(json.loads(invoke(*call, "--force", "--json").stdout)["people_by_step"].values()) == 3
