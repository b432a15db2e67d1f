"""The generated pages of the documentation: command line, settings, Python, files, corpora and models, from the source.

`make docs` calls it through docs/site.py; nothing is written into this folder. `python docs/reference.py FOLDER` writes
the pages into a folder, to read or to compare.
"""

import ast
import csv
import inspect
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src/epir"
_TEXTS = tomllib.loads((ROOT / "docs/reference.toml").read_text(encoding="utf-8"))
COLUMNS, PRINTED, NOT_HERE, STUDY = (_TEXTS[name] for name in ("columns", "printed", "not_here", "study"))
GENERATED = "This page is generated from the source (`docs/reference.py`).\n"


def cell(value: object) -> str:
    """Text for a cell of a table."""
    return re.sub(r"\s+", " ", str(value)).strip().replace("|", "\\|")


def table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(cell(each) for each in line)} |" for line in lines) + "\n"


# ------------------------------------------------------------------------------------------------- command line


def commands() -> str:
    """Every verb with its arguments and options, as `epir VERB --help` has them."""
    import typer

    from epir.cli.verbs import PANELS, app

    by_verb = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    parts = ["# Command line\n", GENERATED]
    parts.append("`epir VERB --help` prints the same. Exit codes: 0 done, 2 something to fix (two lines say what), 130")
    parts.append("Ctrl-C, 143 SIGTERM.\n")
    for panel, verbs in PANELS.items():
        parts.append(f"## {panel}\n")
        for verb in verbs:
            name = verb.__name__.strip("_").replace("_", "-")
            parts.append(_command(name, by_verb[name]))
    return "\n".join(parts)


def _command(name: str, command: Any) -> str:
    about, examples = _examples(command.help or "")
    rows = []
    for parameter in command.params:
        if {"--help", "--json"} & set(parameter.opts):
            continue
        is_argument = parameter.param_type_name == "argument"
        names = [parameter.metavar or parameter.name.upper()] if is_argument else parameter.opts
        names = [*names, *parameter.secondary_opts]
        rows.append((", ".join(f"`{each}`" for each in names), _default(parameter), getattr(parameter, "help", "")))
    shown = f"\n{table(('name', 'default', 'meaning'), rows)}" if rows else ""
    code = f"\n{examples}" if examples else ""
    return f"### epir {name}\n\n{about}\n{code}{shown}"


def _examples(text: str) -> tuple[str, str]:
    """The help of a verb without its examples, and those as a block of code."""
    about, examples = [], []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        words = " ".join(paragraph.replace("\b", "").split())
        if words.startswith("Example: "):
            examples.append(f"    {words.removeprefix('Example: ')}\n")
        elif words:
            about.append(words)
    return "\n\n".join(about), "".join(examples)


def _default(parameter: Any) -> str:
    value = parameter.default
    if parameter.required:
        return "required"
    if value is None or value in ((), [], "") or callable(value):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


# ----------------------------------------------------------------------------------------------------- settings


def settings() -> str:
    """What `--set` and TOML files know, and the training recipes."""
    from epir.cli.listing import _settings
    from epir.training.recipe import ABOUT, RECIPES

    sections: dict[str, list[tuple[str, str, str]]] = {}
    for dotted, line in _settings().items():
        kind, _, about = line.partition(": ")
        kind, _, default = kind.partition(", default ")
        sections.setdefault(dotted.partition(".")[0], []).append((f"`{dotted}`", f"{kind}; `{default}`", about))
    parts = ["# Settings\n", GENERATED, "For `--set NAME=VALUE`, and with the same names in TOML files. `epir list"]
    parts += ["settings` prints the same. The values are those of the default recipe of each section.\n"]
    titles = {"model": "Model", "training": "Training", "face": "Face", "flow": "Flow"}
    for section, rows in sections.items():
        parts += [f"## {titles.get(section, section)}\n", table(("setting", "values; default", "meaning"), rows)]
    plain = RECIPES["scratch"]
    names = [each.name for each in fields(plain) if each.name != "name"]
    differing = [name for name in names if len({getattr(each, name) for each in RECIPES.values()}) > 1]
    rows = [(f"`{name}`", *(getattr(each, name) for each in RECIPES.values())) for name in differing]
    parts += ["## Training recipes\n", table(("recipe", "what it is"), [(f"`{k}`", v) for k, v in ABOUT.items()])]
    parts += ["Where they differ:\n", table(("setting", *(f"`{name}`" for name in RECIPES)), rows)]
    return "\n".join(parts)


# ------------------------------------------------------------------------------------------------------- Python

TOPICS = {
    "A video": ("Recognizer", "predict", "Answer", "spot_frames"),
    "Corpora and maps": ("load_corpus", "prepare", "MapSet", "load_maps", "save_maps", "Clip"),
    "Synthetic faces": ("synth", "synthetic_maps"),
    "Evaluation": ("evaluate", "evaluate_zero_shot", "compare", "score_predictions", "Prediction", "report"),
    "Models": ("create_model", "list_models", "find_method", "predict_maps", "EpirClassifier", "export"),
    "Training": ("fit", "train", "LabelledMaps", "TrainingSettings"),
    "Everything else": ("Engine", "EpirError"),
}


def api() -> str:
    """The public names by topic; mkdocstrings fills in signatures and docstrings."""
    homes = public_names()
    topics = {title: [name for name in names if name in homes] for title, names in TOPICS.items()}
    listed = {name for names in topics.values() for name in names}
    topics["Everything else"] += sorted(set(homes) - listed)
    parts = ["# Python\n", "Everything here is imported as `from epir import NAME`.\n"]
    for title, names in topics.items():
        parts += [f"## {title}\n", *(f"::: {homes[name]}.{name}\n" for name in names)]
    return "\n".join(parts)


def public_names() -> dict[str, str]:
    """The names of `epir/__init__.py`, with the module that each is in."""
    for node in ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_HOME":
            return dict(ast.literal_eval(node.value))
    raise AssertionError("epir/__init__.py has no _HOME")


# ------------------------------------------------------------------------------------------- files and columns


def files() -> str:
    """Every folder and table that epir writes, with its columns."""
    from epir.annotation import export
    from epir.datasets import annotations, intervals, manifest
    from epir.evaluation import fold
    from epir.maps import mapset
    from epir.models import folder
    from epir.recognition import events
    from epir.reports import record as results
    from epir.spotting.megc import spotted
    from epir.synthetic import corpus

    tables = (
        ("Manifest", "A corpus of your own: one row per clip (`manifest`).", manifest.COLUMNS),
        ("Imported annotations", "What `epir import-annotations` writes.", annotations.HEADER),
        (
            "Coded manifest",
            "What `epir annotate STUDY --export manifest.csv` writes.",
            (*annotations.HEADER, *export.EXTRA_COLUMNS),
        ),
        ("Decisions", "What `epir annotate STUDY --export decisions.csv` writes.", export.DECISION_COLUMNS),
        ("Long videos", "`intervals.csv`: one row per movement; an empty `kind` for none.", intervals.COLUMNS),
        (
            "Events",
            "`events.csv` of `epir predict`; also one column `p_CLASS` per class.",
            (*events.HEAD, *events.TAIL),
        ),
        ("Frames", "`frames.csv` of `epir predict`; then one column per region of the face.", events.FRAME_HEAD),
        (
            "Spotted videos",
            "A folder of `epir spot`: `intervals.csv` (below), `videos/*.json` (the same for each video), "
            "`annotation.csv` (what `epir score` compares with), `failed.csv`, `config.toml`.",
            (*intervals.COLUMNS, *spotted.MORE_COLUMNS),
        ),
        (
            "Synthetic corpus",
            "`annotations.csv` (below), `corpus.toml` (every setting: the same file gives the same corpus), "
            "`people.png`, `motion.png`, frames in `001/001_01/`, and with `--truth` `truth/*.npz`: `flow` (H, W, 2), "
            "from onset to apex, and `layer` (H, W): 0 body, 1 eyes, 2 head, 3 glasses.",
            corpus.COLUMNS,
        ),
    )
    parts = ["# Files and columns\n", GENERATED]
    parts += ["Tables are CSV in UTF-8 with a header. Frame numbers are those of the file names, or count from 0 in a"]
    parts += ["video. Folders appear under their names when they are complete.\n", "## Map set\n"]
    channels = ", ".join(mapset.CHANNELS)
    rows = [
        ("`maps.npy`", f"float32 (n, 3, S, S): {channels}; u to the right, v down, in pixels of the map"),
        ("`clips.csv`", f"`{','.join(mapset.COLUMNS)}`, then `frames`, `crop`, `apex_source` and what the corpus adds"),
        (
            "`meta.json`",
            f"format `{mapset.FORMAT}`, size, channels, flow recipe with its digest, digests of both files",
        ),
        ("`left_out.csv`", "clips that could not be prepared: `corpus,subject,clip,problem,fix`"),
        ("`inputs.csv`", "`clip,identity`: of frames and annotation, so that `prepare` notices what was replaced"),
        ("`contact_sheets/`", "with `--contact-sheet`: one picture per person"),
    ]
    parts += [table(("file", "holds"), rows), "## Run\n"]
    rows = [
        ("`config.toml`", "the experiment: every setting"),
        ("`folds/`", f"one JSON file per fold and seed, format `{fold.FORMAT}`"),
        ("`predictions.csv`", "`corpus,subject,clip,truth,strict,best_epoch,seed`, then the score of each class"),
        ("`scores.json`", "UF1, UAR, accuracy, intervals, confusions, by column, seed and corpus"),
        ("`environment.json`", "versions, machine, digests of maps and weights"),
        ("`report.html`", "written by `epir report`"),
        ("`results/*.json`", f"written by `--record`: one published row, format `{results.FORMAT}`"),
    ]
    parts += [table(("file", "holds"), rows), "## Model folder\n"]
    rows = [
        ("`config.json`", f"format `{folder.FORMAT}`: settings, classes, flow recipe, temperature, thresholds"),
        (f"`{folder.WEIGHTS}`", "weights; nothing in the folder is executed"),
        ("`README.md`", "the model card: data, scores, calibration, limits"),
        (f"`{folder.RECORD}`, `{folder.HASHES}`", "whom the weights have seen"),
    ]
    parts += [table(("file", "holds"), rows), "## Answer\n"]
    parts += ["`epir predict --out FOLDER` writes `answer.json`, a picture of why for each movement, `events.csv`,"]
    parts += [
        "`frames.csv`, `megc.csv` (a submission of the challenges), and with the extra `[annotate]` ELAN (`.eaf`)"
    ]
    parts += ["and Praat (`.TextGrid`) tiers.\n", STUDY]
    for title, about, columns in tables:
        counted = {"frames": "number of frames"} if "video" in columns else {}
        rows = [(f"`{name}`", (COLUMNS | counted).get(name, "")) for name in columns]
        parts += [f"## {title}\n", about + "\n", table(("column", "meaning"), rows)]
    return "\n".join(parts)


# ------------------------------------------------------------------------------------------------------ corpora

PAPER_COUNTS = """The paper's text counts CASME II as 247 clips of 26 people, SAMM as 159 of 32 and CAS(ME)^3 as 1,109.
Those are the numbers of the papers that released the corpora. The released sheets have 255 clips for CASME II (246 or
249 of five classes, by the version of the sheet), 159 clips of 29 people for SAMM, and 860 coded clips for CAS(ME)^3
Part A. Tables here count what the sheets hold; `epir check` compares your copy with them.
"""


def corpora() -> str:
    """Corpora with their counts, protocols, corrections and known defects, from the data files."""
    from epir.datasets.protocols import describe_protocols, get_protocol
    from epir.datasets.registry import describe_corpora

    data = SOURCE / "datasets"
    expected = tomllib.loads((data / "expected.toml").read_text(encoding="utf-8"))
    parts = ["# Corpora and protocols\n", GENERATED, "## Corpora\n"]
    parts += [table(("name", "what it is"), [(f"`{k}`", v) for k, v in describe_corpora().items()])]
    parts += ["What a complete copy holds, by version of its annotations:\n"]
    rows, protocol_rows = [], []
    for name, versions in expected.items():
        for version, counts in versions.items():
            if not isinstance(counts, Mapping) or "clips" not in counts:
                continue
            words = ", ".join(f"{word} {number}" for word, number in counts.get("emotions", {}).items())
            rows.append((f"`{name}`", version, counts["clips"], counts.get("people", ""), words))
            for protocol, part in counts.get("protocols", {}).items():
                classes = ", ".join(f"{word} {number}" for word, number in part.get("classes", {}).items())
                row = (f"`{protocol}`", f"`{name}` {version}", part.get("clips", ""), part.get("people", ""), classes)
                protocol_rows.append(row)
    parts += [table(("corpus", "version", "clips", "people", "emotion words"), rows), PAPER_COUNTS, "## Protocols\n"]
    rows = []
    for name, about in describe_protocols().items():
        classes = "" if name == "sde" else ", ".join(get_protocol(name).classes)
        rows.append((f"`{name}`", about, classes))
    parts += [table(("protocol", "what it is", "classes"), rows), "What each makes of a complete copy:\n"]
    parts += [table(("protocol", "corpus", "clips", "people", "classes"), sorted(protocol_rows))]
    parts += ["`epir list protocols --show cde` prints a protocol's file, to copy from.\n", "## Corrections\n"]
    parts += ["Applied when a corpus is loaded; `epir check` lists them.\n"]
    parts += [_csv_table(data / "corrections.csv"), "## Known defects\n"]
    parts += ["Left as they are, and not reported as defects of your copy.\n", _csv_table(data / "known.csv")]
    return "\n".join(parts)


def _csv_table(path: Path) -> str:
    with path.open(encoding="utf-8", newline="") as file:
        titles, *rows = list(csv.reader(file))
    return table(titles, [[f"`{row[0]}`", *row[1:]] for row in rows])


# ------------------------------------------------------------------------------------------------------- models

MODELS_ABOUT = """Every method runs in the same folds, on the same maps and under the same protocol. A network takes
maps (B, 3, S, S) of u, v and strain, normalised inside the model. All baselines are trained by one recipe, so a
difference in score is one between methods, not between optimisers; it also means that no row repeats its paper's
training. Estimators (features and a linear SVM) have no epochs.

    epir evaluate MAPS --protocol cde --model ststnet,off-apexnet,bi-woof

## Sizes and scores

Parameters and multiply-accumulates (MACs) for one 28 px map and 3 classes, counted. `published` is UF1 / UAR on the
composite (`cde`) as the EPIR paper's Table 1 prints it, and how the epoch was chosen as far as that is known. HTNet's
139.58 M parameters are those of its public code; the EPIR paper prints 438.51 M.
"""


def models() -> str:
    """Every model: parameters, multiply-accumulates, source and departures, from its class."""
    from epir.models.registry import BASELINES, about_models, find_method

    printed = {
        row["method"]: (f"{row['uf1']} / {row['uar']}", row["selection"])
        for row in published_rows()
        if (row["table"], row["part"]) == ("1", "full")
    }
    sizes, described = [], []
    for name, about in about_models().items():
        method = find_method(name)
        counts = count_model(name) if method.kind == "network" else ("", "")
        score, chosen = printed.get(PRINTED.get(name, ""), ("", ""))
        sizes.append((f"`{name}`", about, *counts, score, chosen))
        if name in BASELINES:
            described.append(_described(name, method.target))
    parts = ["# Models\n", GENERATED, MODELS_ABOUT]
    titles = ("name", "what it is", "parameters", "MACs", "published", "epoch chosen")
    parts += [table(titles, sizes), "The presets of EPIR are explained on [the paper map](paper_map.md).\n"]
    parts += ["## Sources and departures\n", *described]
    parts += ["## Published numbers only\n", "These are shown beside yours in tables, but not implemented:\n"]
    parts += [table(("method", "why it is not here"), NOT_HERE.items())]
    return "\n".join(parts)


def published_rows() -> list[dict[str, str]]:
    """The rows of published.csv."""
    with (SOURCE / "evaluation/published.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def count_model(name: str) -> tuple[str, str]:
    """Parameters and multiply-accumulates of a network, as text."""
    from epir.models.registry import model_settings
    from epir.reports.tables import model_cost

    cost = model_cost(model_settings(name))
    return ("", "") if cost is None else (f"{cost.parameters:,}", f"{cost.multiply_accumulates / 1e6:.2f} M")


def _described(name: str, target: Any) -> str:
    """The source of a method and what it says of itself, from the docstring of its class."""
    paragraphs = [" ".join(part.split()) for part in (inspect.getdoc(target) or "").split("\n\n")]
    source = next((part for part in paragraphs if part.startswith("[")), "")
    return "\n\n".join([f"### {name}", f"Source: {source}", *(part for part in paragraphs if part != source)]) + "\n"


PAGES: Mapping[str, Callable[[], str]] = {
    "commands.md": commands,
    "settings.md": settings,
    "api.md": api,
    "files.md": files,
    "corpora.md": corpora,
    "models.md": models,
}


def write_pages(folder: Path) -> None:
    """Write every page into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
