import json

import cv2
import numpy as np
import openpyxl
import pytest

from epir.core.errors import DatasetError

HEADER = "clip,subject,emotion,frames,onset,apex,offset,fps"


@pytest.fixture
def run(invoke):
    return lambda *words: invoke("check", *words)


@pytest.fixture
def mine(tmp_path):
    """A manifest of two clips without defects, with real pictures."""
    picture = np.full((8, 8, 3), 90, np.uint8)
    for clip in ("one", "two"):
        (tmp_path / clip).mkdir()
        for number in range(1, 6):
            assert cv2.imwrite(str(tmp_path / clip / f"img{number}.png"), picture)
    rows = ["one,anna,negative,one,1,3,5,60", "two,ben,surprise,two,1,3,5,60"]
    (tmp_path / "manifest.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    return tmp_path


def test_all_is_well(run, mine):
    result = run("manifest", mine)
    assert result.exit_code == 0
    assert "all is well" in result.output
    assert "for 2 of 2 clips" in result.output


def test_the_json_object(run, mine):
    result = run("manifest", mine, "--json")
    values = json.loads(result.output)
    assert result.exit_code == 0
    assert (values["corpus"], values["sheet"], values["clips"], values["people"]) == ("manifest", "manifest.csv", 2, 2)
    assert values["emotions"] == {"negative": 1, "surprise": 1}
    assert values["protocols"]["cde"] == {
        "clips": 2,
        "people": 2,
        "classes": {"negative": 1, "positive": 0, "surprise": 1},
    }
    assert values["defects"] == values["corrected"] == []


def test_a_missing_frame_is_listed_and_the_exit_code_says_so(run, mine):
    (mine / "one" / "img4.png").unlink()
    result = run("manifest", mine)
    assert result.exit_code == 1
    assert "manifest/anna/one  1 frame of 1-5 missing: 4" in result.output
    assert "1 defect in 1 of 2 clips" in result.output
    result = run("manifest", mine, "--json")
    assert result.exit_code == 1
    assert json.loads(result.output)["defects"] == [
        {"clip": "manifest/anna/one", "problem": "1 frame of 1-5 missing: 4", "known": False}
    ]


def test_unreadable_pictures_of_a_clip_are_found_only_by_opening_them(run, mine):
    (mine / "two" / "img2.png").write_bytes(b"not a picture")
    (mine / "two" / "img3.png").write_bytes(b"")
    (mine / "two" / "img9.png").write_bytes(b"outside the clip")
    assert run("manifest", mine).exit_code == 0
    result = run("manifest", mine, "--deep", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["defects"] == [
        {"clip": "manifest/ben/two", "problem": "2 pictures cannot be opened: frame 2-3", "known": False}
    ]


def test_many_equal_defects_share_a_line_and_long_lists_are_cut(run, tmp_path):
    rows = [f"c{n},anna,joy,gone,1,3,5,60" for n in range(30)]
    (tmp_path / "manifest.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    result = run("manifest", tmp_path)
    assert "30 clips (manifest/anna/c0, ..., manifest/anna/c29)  there is no folder or video gone" in result.output
    rows = [f"c{n},anna,joy,gone{n},1,3,5,60" for n in range(30)]
    (tmp_path / "manifest.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    result = run("manifest", tmp_path)
    assert "... and 10 more (--json lists them all)" in result.output
    assert len(json.loads(run("manifest", tmp_path, "--json").output)["defects"]) == 30


def test_names_in_brackets_are_printed_as_they_are(run, mine):
    path = mine / "manifest.csv"
    path.write_text(
        path.read_text().replace("one,anna,negative", "[red]one,anna,[bold]joy").replace(",1,3,5", ",3,3,5", 1)
    )
    result = run("manifest", mine)
    assert "manifest/anna/[red]one  apex and onset are one frame" in result.output
    assert "[bold]joy" in result.output


@pytest.fixture
def casme2(tmp_path):
    """Two clips of CASME II, with a value that is corrected and one that every copy lacks."""
    book = openpyxl.Workbook()
    names = ("Subject", "Filename", None, "OnsetFrame", "ApexFrame", "OffsetFrame", None)
    book.active.append([*names, "Action Units", "Estimated Emotion"])
    book.active.append(["16", "EP01_08", None, 40, 70, 110, None, 4, "disgust"])
    book.active.append(["04", "EP12_01f", None, 243, "/", 250, None, 4, "disgust"])
    book.save(tmp_path / "CASME2-coding-20140508.xlsx")
    for folder, last in (("sub16/EP01_08", 96), ("sub04/EP12_01f", 250)):
        (tmp_path / "Cropped" / folder).mkdir(parents=True)
        for number in range(40, last + 1):
            (tmp_path / "Cropped" / folder / f"reg_img{number}.jpg").touch()
    return tmp_path


def test_counts_corrections_and_known_flaws_are_shown(run, casme2):
    result = run("casme2", casme2)
    assert result.exit_code == 1  # 253 clips are missing
    lines = [line.split() for line in result.output.splitlines()]
    assert ["all", "2", "255", "2", "26"] in lines
    assert ["cde", "1", "145", "1", "24"] in lines
    assert "annotations: 2014; frames: cropped, for 2 of 2 clips" in result.output
    assert "casme2/sub16/EP01_08  offset 110 -> 96: the delivered frames end at 96" in result.output
    assert "known in every copy of the release:\n  casme2/sub04/EP12_01f  the sheet gives no apex" in result.output
    assert "\nother counts than in a complete copy:\n  2 clips, expected 255" in result.output
    values = json.loads(run("casme2", casme2, "--json").output)
    assert values["corrected"][0]["new"] == "96"
    assert {"clip": "casme2", "problem": "2 clips, expected 255", "known": False} in values["defects"]
    assert [one["clip"] for one in values["defects"] if one["known"]] == ["casme2/sub04/EP12_01f"]


def test_options_reach_the_corpus(run, casme2, tmp_path):
    sheet = (casme2 / "CASME2-coding-20140508.xlsx").rename(tmp_path / "elsewhere.xlsx")
    with pytest.raises(DatasetError, match="no annotation sheet"):
        run("casme2", casme2)
    assert "frames: cropped" in run("casme2", casme2, "--sheet", sheet).output
    with pytest.raises(DatasetError, match=r"has no 'raw' frames\n  fix: choose one of: cropped"):
        run("casme2", casme2, "--sheet", sheet, "--tree", "raw")
    with pytest.raises(DatasetError, match="casme2 has no option 'part'"):
        run("casme2", casme2, "--part", "hs")


def test_parts_of_smic(run, tmp_path):
    folder = tmp_path / "VIS" / "s11" / "micro" / "positive" / "s11_po_01"
    folder.mkdir(parents=True)
    for number in range(5):
        (folder / f"image{100000 + number}.bmp").touch()
    values = json.loads(run("smic", tmp_path, "--part", "vis", "--json").output)
    assert (values["sheet"], values["clips"], values["protocols"]["cde"]["clips"]) == ("vis", 1, 0)


def test_a_damaged_video_and_numbers_past_its_end_are_found_by_decoding_it(run, tmp_path, numbered):
    numbered.write(tmp_path / "a.mp4", count=12)
    (tmp_path / "b.mp4").write_bytes(b"not a video")
    rows = ["one,anna,negative,a.mp4,2,6,11,", "two,anna,negative,a.mp4,2,12,40,", "three,ben,fear,b.mp4,0,3,5,60"]
    (tmp_path / "manifest.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    assert run("manifest", tmp_path).exit_code == 0
    result = run("manifest", tmp_path, "--deep", "--json")
    assert result.exit_code == 1
    *past, damaged = [(each["clip"], each["problem"]) for each in json.loads(result.stdout)["defects"]]
    assert past == [
        ("manifest/anna/two", "the apex 12 is past the end of the video, whose last frame is 11"),
        ("manifest/anna/two", "the offset 40 is past the end of the video, whose last frame is 11"),
    ]
    assert damaged[0] == "manifest/ben/three" and "b.mp4" in damaged[1]


def test_a_wrong_layout_and_a_partial_copy_count_only_existing_clips(run, casme2):
    elsewhere = (casme2 / "Cropped").rename(casme2 / "elsewhere")
    for name in ("sub04", "sub16"):
        (elsewhere / name).rename(elsewhere / f"Subject_{name}")
    result = run("casme2", casme2)
    assert result.exit_code == 1
    text = " ".join(result.output.split())
    assert "frames: none found" in text
    assert "frames are expected as Cropped/sub01/EP02_01f/reg_img46.jpg; found instead: pictures in 2 folders" in text
    (elsewhere / "Subject_sub16").rename(elsewhere / "sub16")
    values = json.loads(run("casme2", casme2, "--json").output)
    assert (values["clips"], values["annotated"], values["people"]) == (1, 2, 1)
    assert values["emotions"] == {"disgust": 1}


def test_movements_of_long_videos_are_counted(run, tmp_path):
    rows = ["1,anger1_1,5,9,0,4,negative,macro-expression,pain", "1,anger1_2,5,7,9,4,negative,micro-expression,pain"]
    (tmp_path / "CAS(ME)^2code_final.csv").write_text("\n".join(rows) + "\n")
    folder = tmp_path / "rawpic" / "s15" / "15_0401girlcrashing"
    folder.mkdir(parents=True)
    for number in range(1, 12):
        (folder / f"img{number:03d}.jpg").touch()
    result = run("casme-sq", tmp_path, "--json")
    values = json.loads(result.stdout)
    assert result.exit_code == 1  # not a complete copy
    counted = ("videos", "videos with movements", "micro", "macro", "people in videos")
    assert values["further"] == dict.fromkeys(counted, 1)
    assert {"clip": "casme-sq", "problem": "1 macro, expected 300", "known": False} in values["defects"]
    assert "videos with movements" in run("casme-sq", tmp_path).stdout


def test_a_label_map(run, mine, tmp_path):
    labels = tmp_path / "map.txt"
    labels.write_text("negative,down\nsurprise,up\n")
    values = json.loads(run("manifest", mine, "--labels", labels, "--json").stdout)
    assert values["emotions"] == {"down": 1, "up": 1}
    with pytest.raises(DatasetError, match="casme2 has no option 'labels'"):
        run("casme2", tmp_path, "--labels", labels)
