import subprocess
import sys

import pytest

from epir.core.errors import DatasetError
from epir.datasets.registry import list_corpora, list_long_corpora, load_corpus, load_long_videos


def test_the_names():
    assert list_corpora() == (
        *("casme2", "samm", "smic", "casme3", "casme", "mmew", "dfme", "4dme"),
        *("casme-sq", "samm-lv", "casme3-lv", "smic-e", "synthetic", "manifest"),
    )
    assert list_long_corpora() == ("casme-sq", "samm-lv", "casme3-lv", "smic-e", "synthetic", "manifest")


def test_the_nearest_corpus_is_proposed(tmp_path):
    with pytest.raises(DatasetError, match=r"there is no corpus 'casme_2'\n  fix: did you mean 'casme' or 'casme2'\?"):
        load_corpus("casme_2", tmp_path)
    with pytest.raises(DatasetError, match=r"there is no corpus 'xyz'\n  fix: use one of: casme2, samm, smic"):
        load_corpus("xyz", tmp_path)


def test_a_root_that_is_not_there(tmp_path):
    with pytest.raises(
        DatasetError, match=r"there is no folder .*gone\n  fix: give the folder into which samm was unpacked"
    ):
        load_corpus("samm", tmp_path / "gone")


def test_a_root_that_is_a_file(tmp_path):
    (tmp_path / "a.txt").touch()
    for name in ("casme2", "smic"):
        with pytest.raises(DatasetError, match=r"a.txt is a file\n  fix: give the folder into which"):
            load_corpus(name, tmp_path / "a.txt")


@pytest.mark.parametrize("name", list_corpora())
def test_an_archive_has_to_be_unpacked(tmp_path, name):
    (tmp_path / "a.ZIP").touch()
    with pytest.raises(DatasetError, match=r"a.ZIP is an archive that was not unpacked\n  fix: unpack it, and give"):
        load_corpus(name, tmp_path / "a.ZIP")


def test_options_that_a_corpus_does_not_have(tmp_path):
    with pytest.raises(DatasetError, match=r"casme2 has no option 'part'\n  fix: its options are: sheet, tree"):
        load_corpus("casme2", tmp_path, part="hs")


def test_no_sheet_says_which_names_are_looked_for(tmp_path):
    with pytest.raises(DatasetError, match=r"no annotation sheet of CASME II in .*\n  fix: .*CASME2-coding-2\*.xlsx"):
        load_corpus("CASME2", tmp_path)


def test_reading_annotations_needs_neither_pixels_nor_tensors(tmp_path, release):
    release.casme2_sheet(tmp_path / "CASME2-coding-20140508.xlsx", "2014")
    code = (
        "import sys; from epir.datasets.registry import load_corpus; from epir.datasets.survey import survey;"
        f"survey(load_corpus('casme2', {str(tmp_path)!r}));"
        "assert not {'cv2', 'torch', 'pandas', 'matplotlib'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_long_videos_of_a_list_and_of_a_corpus_that_has_none(tmp_path):
    (tmp_path / "intervals.csv").write_text("subject,video,path,fps,kind,onset,offset\nanna,a,a.mp4,30,micro,9,20\n")
    assert [video.key for video in load_long_videos("manifest", tmp_path)] == ["manifest/anna/a"]
    assert [video.key for video in load_long_videos("synthetic", tmp_path)] == ["synthetic/anna/a"]
    with pytest.raises(DatasetError, match=r"casme2 has no long videos\n  fix: use one of: .*synthetic, manifest"):
        load_long_videos("casme2", tmp_path)
