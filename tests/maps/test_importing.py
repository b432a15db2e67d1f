import cv2
import numpy as np
import pytest

from epir.core.errors import ConfigError, MapSetError
from epir.evaluation.samples import gather
from epir.maps.importing import LAYOUTS, import_maps
from epir.maps.mapset import load_maps

HEADER = "subject,clip,emotion"


def picture(value, size=6):
    """A map whose u, v and strain are value, value + 1 and value + 2 of 255."""
    return np.stack([np.full((size, size), value + place, np.uint8) for place in range(3)], axis=-1)


def write_png(path, rgb):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(cv2.imencode(".png", np.ascontiguousarray(rgb[..., ::-1]))[1].tobytes())


@pytest.fixture
def write_table(tmp_path):
    """A folder with two pictures, and a function that writes its table."""
    for number, name in enumerate(("a", "b")):
        write_png(tmp_path / "flow" / f"{name}.png", picture(10 * number))

    def write(*rows, header=HEADER):
        path = tmp_path / "labels.csv"
        path.write_text("\n".join([header, *(rows or ("1,a,joy", "2,b,fear"))]) + "\n", encoding="utf-8")
        return {"folder": tmp_path / "flow", "labels": path, "out": tmp_path / "maps"}

    return write


def test_pictures_become_a_map_set(write_table):
    imported = import_maps(**write_table())
    maps = load_maps(imported.maps.folder)
    assert [clip.key for clip in maps.clips] == ["imported/1/a", "imported/2/b"]
    assert maps.maps[:, :, 0, 0] * 255 == pytest.approx(np.array([[0, 1, 2], [10, 11, 12]]))
    assert maps.meta["recipe"]["files_digest"] == imported.digest and len(imported.digest) == 64
    assert import_maps(**write_table(), force=True, channels="rgb").digest == imported.digest
    changed = import_maps(**write_table("1,a,joy", "2,b,anger"), force=True)
    assert changed.digest != imported.digest


def test_channels_in_another_order(write_table):
    maps = import_maps(**write_table(), channels="strain,v,u").maps
    assert maps.maps[0, :, 0, 0] * 255 == pytest.approx([2, 1, 0])
    with pytest.raises(
        ConfigError, match=r"the channels 'u,v' are not u, v and strain\n  fix: write --channels u,v,str"
    ):
        import_maps(**write_table(), channels="u,v")


def test_arrays_stay_as_they_are(write_table, tmp_path):
    folder = tmp_path / "flow"
    for path in folder.iterdir():
        path.unlink()
    values = np.random.default_rng(0).normal(size=(3, 6, 6)).astype(np.float32)
    np.save(folder / "a.npy", values.transpose(1, 2, 0))
    np.savez(folder / "b.npz", values)
    np.savez(folder / "c.npz", strain=values[2], u=values[0], v=values[1])
    maps = import_maps(**write_table("1,a,joy", "1,b,joy", "2,c,joy")).maps
    assert all(np.array_equal(one, values) for one in maps.maps)


def test_further_columns_and_numbers_for_classes(write_table):
    rows = ("samm,6,c1,1,a.png,3,200,12", "smic,s2,c2,0,b,,,")
    where = write_table(*rows, header="corpus,subject,clip,emotion,file,apex,fps,action_units")
    first, second = import_maps(**where, classes=("negative", "positive")).maps.clips
    assert (first.key, first.emotion, first.apex, first.fps) == ("samm/006/c1", "positive", 3, 200.0)
    assert first.extra == {"action_units": "12"} and second.key == "smic/s02/c2"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (("1,a,joy",), r"the file b\.png is in no row of the table"),
        (("1,a,joy", "2,b,joy", "3,c,joy"), r"row 4: there is no file c"),
        (("1,a,joy", "2,b,joy", "1,a,joy"), r"row 4: the clip imported/1/a is in row 2 already"),
        (("1,a,joy", "2,b,joy", "3,a,joy"), r"row 4: the file a belongs to row 2"),
        (("1,a,joy", ",b,joy"), r"row 3: the subject is empty"),
    ],
)
def test_rows_and_files_that_do_not_fit(write_table, tmp_path, rows, words):
    with pytest.raises(
        MapSetError, match=words + r"(.|\n)*\n  fix: correct the table and the folder; nothing was writ"
    ):
        import_maps(**write_table(*rows))
    assert not (tmp_path / "maps").exists()


def test_extra_files_in_subfolders_are_told_and_hidden_ones_and_the_output_are_not(write_table, tmp_path):
    where = write_table("1,a,joy", "2,deep/c,joy", "3,b,joy")
    folder = tmp_path / "flow"
    where["out"] = folder / "out" / "maps"
    write_png(folder / "deep" / "c.png", picture(20))
    write_png(folder / ".cache" / "d.png", picture(20))
    assert len(import_maps(**where).maps) == 3
    assert len(import_maps(**where, force=True).maps) == 3
    write_png(folder / "deep" / "b.png", picture(20))
    with pytest.raises(MapSetError, match=r"do not match: the file deep/b\.png is in no row of the table\n"):
        import_maps(**where, force=True)


def test_every_bad_file_is_told_with_its_row(write_table, tmp_path):
    folder = tmp_path / "flow"
    write_png(folder / "large.png", picture(0, size=7))
    (folder / "text.png").write_text("no picture")
    cv2.imwrite(str(folder / "grey.png"), np.zeros((6, 6), np.uint8))
    np.save(folder / "nan.npy", np.full((3, 6, 6), np.nan))
    np.save(folder / "flat.npy", np.zeros((6, 6)))
    (folder / "broken.npz").write_bytes(b"PK\x03\x04 nothing")
    names = ("a", "b", "large", "text", "grey", "nan", "flat", "broken")
    with pytest.raises(MapSetError) as refused:
        import_maps(**write_table(*(f"1,{name},joy" for name in names)))
    for words in (
        "row 4: large.png is 7 x 7 px, not 6 x 6",
        "row 5: text.png: it is not a picture",
        "row 6: grey.png: it has 1 channels, not 3",
        "row 7: nan.npy holds values that are not finite",
        "row 8: flat.npy: its shape is (6, 6), not (3, S, S) or (S, S, 3)",
        "row 9: broken.npz: it cannot be read",
    ):
        assert words in refused.value.problem


def test_labels_out_of_range_and_a_table_that_is_not_there(write_table, tmp_path):
    with pytest.raises(MapSetError, match=r"row 3: the label is '2', not 0 to 1 \(negative, positive\)"):
        import_maps(**write_table("1,a,0", "2,b,2"), classes=("negative", "positive"))
    with pytest.raises(MapSetError, match=r"there is no table .*none\.csv\n  fix: give it with --labels"):
        import_maps(tmp_path / "flow", tmp_path / "maps", labels=tmp_path / "none.csv")
    with pytest.raises(ConfigError, match=r"the table of labels is missing\n  fix: add --labels TABLE, or --layout"):
        import_maps(tmp_path / "flow", tmp_path / "maps")
    with pytest.raises(ConfigError, match=r"there is no layout 'htnett'\n  fix: did you mean 'htnet'\?"):
        import_maps(tmp_path / "flow", tmp_path / "maps", layout="htnett")


@pytest.fixture
def published(tmp_path):
    """A folder of the form that HTNet publishes, with drawn maps."""
    layout = LAYOUTS["htnet"]
    random = np.random.default_rng(0)
    labels = [number for number, name in enumerate(layout.classes) for _ in range(layout.clips[name])]
    people = [("casme2", f"sub{n:02d}") for n in range(1, 25)] + [("samm", f"{n:03d}") for n in range(6, 34)]
    people += [("smic", f"s{n:02d}") for n in range(1, 17)]
    rows = []
    for number, label in enumerate(labels):
        corpus, subject = people[number % len(people)]
        clip = f"{subject}_{number}" if corpus != "casme2" else f"EP01_{number}f"
        rows.append(f"{corpus},{subject},{clip},{label},,{subject}_{clip}.jpg,")
        write_png(
            tmp_path / "HTNet" / layout.maps / f"{subject}_{clip} .png", random.integers(0, 256, (28, 28, 3), np.uint8)
        )
    header = "dataset,sub,filename_o,label,apex,imagename,sub_filename"
    table = tmp_path / "HTNet" / layout.labels
    table.write_text("\n".join([header, *rows]) + "\n")
    return table


def test_the_published_composite(published, tmp_path):
    imported = import_maps(published.parent, tmp_path / "maps", layout="htnet")
    assert len(imported.maps) == 442 and imported.maps.size == 28 and "research only" in imported.licence
    clips = gather([imported.maps], "cde")
    assert len({clip.person for clip in clips.clips}) == 68 and clips.left_out == 0
    lines = published.read_text().splitlines()
    published.write_text("\n".join(lines).replace("\ncasme2,", "\nCASME2,"))
    words = r"0 people of casme2, expected 24; it names the corpora 'CASME2', which are none of casme2, samm, smic\n"
    with pytest.raises(MapSetError, match=words):
        import_maps(published.parent, tmp_path / "other", layout="htnet")
    published.write_text("\n".join([lines[0].replace("label", "lable"), *lines[1:]]))
    with pytest.raises(
        MapSetError, match=r"lacks the column 'label'\n  fix: give a CSV with the columns dataset, sub, "
    ):
        import_maps(published.parent, tmp_path / "other", layout="htnet")
    published.write_text("\n".join([*lines[:-1], lines[-1].replace(",2,", ",1,")]))
    with pytest.raises(
        MapSetError, match=r"is not the published table: 110 clips of positive, expected 109; 82 clips of sur"
    ):
        import_maps(published.parent, tmp_path / "other", layout="htnet")


def test_published_maps_that_are_not_unpacked_are_told_at_once(published, tmp_path):
    home, maps = published.parent, published.parent / LAYOUTS["htnet"].maps
    fix = r"\n  fix: unpack the published maps there, or give the folder of the maps, and the table with --labels"
    maps.rename(tmp_path / "elsewhere")
    write_png(home / "figure.png", picture(0))  # of the repository, not a map
    for given in ({}, {"labels": published}):
        with pytest.raises(MapSetError, match=rf"the maps are missing: {maps} is not there{fix}"):
            import_maps(home, tmp_path / "maps", layout="htnet", **given)
    maps.mkdir()
    with pytest.raises(MapSetError, match=rf"the maps are missing: {maps} holds none{fix}"):
        import_maps(home, tmp_path / "maps", layout="htnet")
    assert len(import_maps(tmp_path / "elsewhere", tmp_path / "maps", labels=published, layout="htnet").maps) == 442
