import os

import pytest

from epir.core.errors import DatasetError
from epir.datasets.folders import Layouts, Place, Tree, match_folders


def test_a_listing_tells_frames_folders_and_files_apart(tmp_path):
    for name in ("img10.jpg", "img9.jpg", "._img8.jpg", "sheet.xlsx", ".DS_Store"):
        (tmp_path / name).touch()
    for name in ("sub02", "sub01", "__MACOSX", ".git"):
        (tmp_path / name).mkdir()
    listing = Tree(tmp_path).listing(tmp_path)
    assert listing.frames == (9, 10)
    assert list(listing.folders) == ["sub01", "sub02"]
    assert listing.files == ("sheet.xlsx",)
    with pytest.raises(DatasetError, match=r"the folder .*gone cannot be listed: No such file.*\n  fix: "):
        Tree(tmp_path).listing(tmp_path / "gone")


def test_a_folder_is_listed_once(tmp_path, monkeypatch):
    listed = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or scandir(path))
    tree = Tree(tmp_path)
    tree.listing(tmp_path)
    tree.listing(tmp_path)
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
    assert tree.listing(tree.listing(root).folders["sub01"]).frames == (1,)


LAYOUTS = Layouts(
    {"{subject}/{clip}/color": "full", "{subject}_{clip}": "clips"}, {"small": "*small*"}, ignored=("depth",)
)


def place(subject, clip):
    return Place(f"{subject}/{clip}", ({"subject": subject, "clip": clip},))


def test_a_layout_is_followed_whatever_the_spelling(tmp_path, release):
    there = release.frames(tmp_path / "x" / "Sub01" / "EP" / "Color", range(3))
    matches = match_folders(Tree(tmp_path), [place("1", "ep"), place("2", "ep")], LAYOUTS)
    assert matches.kind == "full"
    assert matches.folders == {"1/ep": there}
    assert matches.homes == (tmp_path / "x",)
    (tmp_path / "x").rename(tmp_path / "Small")  # the name of a folder tells the tree before the layout does
    assert match_folders(Tree(tmp_path), [place("1", "ep")], LAYOUTS).kind == "small"


def test_the_most_complete_tree_is_taken(tmp_path, release):
    places = [place("1", "a"), place("1", "b")]
    release.frames(tmp_path / "one" / "1" / "a" / "color", range(3))
    for clip in "ab":
        release.frames(tmp_path / "two" / f"1_{clip}", range(3))
    matches = match_folders(Tree(tmp_path), places, LAYOUTS)
    assert (matches.kind, matches.other_kinds) == ("clips", ("full",))
    assert match_folders(Tree(tmp_path), places, LAYOUTS, kind="full").folders.keys() == {"1/a"}


def test_subjects_spread_over_several_folders_are_put_together(tmp_path, release):
    for disk, subject in (("disk1", "1"), ("disk2", "2")):
        release.frames(tmp_path / disk / subject / "a" / "color", range(3))
    matches = match_folders(Tree(tmp_path), [place("1", "a"), place("2", "a")], LAYOUTS)
    assert len(matches.folders) == 2
    assert len(matches.homes) == 2


def test_a_folder_with_frames_is_preferred_to_an_empty_one(tmp_path, release):
    (tmp_path / "a" / "1" / "x" / "color").mkdir(parents=True)
    there = release.frames(tmp_path / "b" / "1" / "x" / "color", range(3))
    assert match_folders(Tree(tmp_path), [place("1", "x")], LAYOUTS).folders["1/x"] == there


def test_folders_of_frames_are_not_listed_before_a_clip_needs_them(tmp_path, release, monkeypatch):
    release.frames(tmp_path / "1" / "x" / "color", range(3))
    unused = release.frames(tmp_path / "1" / "y" / "color", range(3))
    tree = Tree(tmp_path)
    match_folders(tree, [place("1", "x")], LAYOUTS)
    monkeypatch.setattr("os.scandir", lambda path: pytest.fail(f"{path} is listed only now"))
    assert tree.listing(tmp_path / "1" / "x" / "color").frames == (0, 1, 2)
    with pytest.raises(pytest.fail.Exception, match="only now"):
        tree.listing(unused)


def test_of_two_videos_with_one_name_the_more_usual_ending_counts(tmp_path):
    for name in ("a.gif", "a.avi", "b.mpg"):
        (tmp_path / name).touch()
    layouts = Layouts({"{clip}.avi": "video"}, {})
    matches = match_folders(Tree(tmp_path), [place("1", "a"), place("1", "b")], layouts)
    assert matches.folders == {"1/a": tmp_path / "a.avi", "1/b": tmp_path / "b.mpg"}


def test_no_folders_but_ignored_ones(tmp_path, release):
    release.frames(tmp_path / "depth" / "1" / "x" / "color", range(3))
    assert match_folders(Tree(tmp_path), [place("1", "x")], LAYOUTS).kind == ""
    with pytest.raises(DatasetError, match=r"has no 'full' frames\n  fix: unpack the frames there"):
        match_folders(Tree(tmp_path), [place("1", "x")], LAYOUTS, kind="full")
