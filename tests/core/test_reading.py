import os

import pytest

from epir.core.errors import ConfigError
from epir.core.reading import read_bytes, read_json, read_rows, read_text

HOW = {"error": ConfigError, "fix": "give another"}


def test_a_regular_file_is_read_as_it_is(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read_json(path, **HOW) == {"a": 1}
    assert read_text(path, **HOW) == '{"a": 1}'
    assert read_bytes(path, **HOW).startswith(b"\xef")
    with pytest.raises(FileNotFoundError):
        read_text(tmp_path / "b", **HOW)


@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "/dev/zero", "/dev/full"])
def test_nothing_else_is_opened(tmp_path, kind):
    path = tmp_path / "a"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("a" if kind == "loop" else kind)
    with pytest.raises(
        ConfigError, match=r"/a is (a folder, not a file|a pipe or a device|a loop of links).*\n  fix: give"
    ):
        read_text(path, **HOW)


def test_a_link_to_a_file_is_followed(tmp_path):
    (tmp_path / "a").write_text("x")
    (tmp_path / "b").symlink_to("a")
    assert read_text(tmp_path / "b", **HOW) == "x"


def test_a_size_is_a_limit(tmp_path):
    (tmp_path / "a").write_bytes(bytes(1 << 20))
    assert len(read_bytes(tmp_path / "a", most=1 << 20, **HOW)) == 1 << 20
    with (tmp_path / "a").open("ab") as file:
        file.truncate(1 << 40)  # without taking space
    with pytest.raises(ConfigError, match="is larger than 1 MiB"):
        read_bytes(tmp_path / "a", most=1 << 20, **HOW)


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "[]", "7", "", "9" * 5000, '{"a": ' * 100_000])
def test_json_that_is_no_object_is_refused(tmp_path, text):
    (tmp_path / "a").write_text(text)
    with pytest.raises(ConfigError, match=r"a is damaged: .*\n  fix: give another"):
        read_json(tmp_path / "a", **HOW)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b\n1,2\n", None),
        (b"a\n1\n", "lacks the column 'b'"),
        (b"a,b\n1\n", "row 1 has too few cells"),
        ("a,b\nü,2".encode("latin-1"), "is not UTF-8"),
        ("a,b".encode("utf-16"), "is not UTF-8"),
        (b"a,b\n" + b"x" * 200_000, "field larger than field limit"),
    ],
)
def test_a_table_has_its_columns(tmp_path, content, words):
    (tmp_path / "a").write_bytes(content)
    if words is None:
        assert read_rows(tmp_path / "a", ("a", "b"), **HOW) == [{"a": "1", "b": "2"}]
    else:
        with pytest.raises(ConfigError, match=words):
            read_rows(tmp_path / "a", ("a", "b"), **HOW)
