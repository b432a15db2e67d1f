import os

import pytest

from epir.core.errors import DatasetError
from epir.datasets.tree import Tree


def test_a_listing_tells_frames_folders_and_files_apart(tmp_path):
    for name in ("img10.jpg", "img9.jpg", "._img8.jpg", "sheet.xlsx", ".DS_Store"):
        (tmp_path / name).touch()
    for name in ("sub02", "sub01", "__MACOSX", ".git"):
        (tmp_path / name).mkdir()
    listing = Tree(tmp_path).look(tmp_path)
    assert listing.frames == (9, 10)
    assert list(listing.folders) == ["sub01", "sub02"]
    assert listing.files == ("sheet.xlsx",)


def test_a_folder_is_listed_once(tmp_path, monkeypatch):
    listed = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or scandir(path))
    tree = Tree(tmp_path)
    tree.look(tmp_path)
    tree.look(tmp_path)
    assert listed == [tmp_path]


def test_below_goes_down_as_far_as_told(tmp_path):
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    tree = Tree(tmp_path)
    assert [path.name for path in tree.below(tmp_path, depth=2)] == [tmp_path.name, "a", "b"]
    assert tree.relative(tmp_path / "a" / "b") == "a/b"
    assert tree.relative(tmp_path) == tmp_path.name


def test_a_folder_behind_a_link_is_followed(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "img1.jpg").touch()
    root = tmp_path / "root"
    root.mkdir()
    (root / "sub01").symlink_to(tmp_path / "disk")
    tree = Tree(root)
    assert tree.look(tree.look(root).folders["sub01"]).frames == (1,)


def test_a_folder_that_cannot_be_listed_is_named(tmp_path):
    with pytest.raises(DatasetError, match=r"the folder .*gone cannot be listed: No such file.*\n  fix: "):
        Tree(tmp_path).look(tmp_path / "gone")
