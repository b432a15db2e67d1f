"""The verbs `train`, `calibrate` and `export`: write, calibrate and convert a model folder."""

from pathlib import Path
from typing import Annotated

from typer import Option

from epir.cli import options
from epir.core.words import counted, people

COMPARED_MAPS = 512  # most maps of a map set on which an export is compared


def train(
    maps: options.Maps,
    protocol: options.Protocol,
    out: Annotated[Path, Option(help="The model folder to write.")],
    model: Annotated[str, Option(help="The model to train: a name, FILE.py:Name or package.module:Name.")] = "epir",
    start: Annotated[
        Path | None, Option(help="A model folder to start from, or shipped.", show_default="from the recipe")
    ] = None,
    training: options.Training = None,
    changes: options.Changes = None,
    folds: Annotated[int, Option(help="Number of grouped folds that calibrate the scores.")] = 5,
    seed: Annotated[int, Option(help="Random seed of the final model.")] = 0,
    run: Annotated[
        Path | None, Option(help="Keep the folds in this run folder, so that the same command resumes them.")
    ] = None,
    workers: options.Workers = None,
    calibrate_on: Annotated[
        list[Path] | None,
        Option(help="Map sets of other people to calibrate the scores on, instead of folds.", show_default=False),
    ] = None,
    note: Annotated[Path | None, Option(help="A text file to add to the model card.", show_default=False)] = None,
    half: Annotated[bool, Option("--half", help="Store the weights in half precision.")] = False,
    allow_seen: options.AllowSeen = False,
    code: options.Code = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Train one model on all clips, calibrate its scores on held-out people, and write it with a model card.

    Example: epir train maps/casme2 maps/samm maps/smic --protocol cde --out models/mine
    """
    from dataclasses import asdict

    from epir.cli.console import show, showing_progress

    options.check_names([*maps, *(calibrate_on or ())], protocol)  # before torch is loaded
    from epir.final.train import train as train_model

    with showing_progress(quiet=as_json) as progress:
        done = train_model(
            maps,
            protocol=protocol,
            out=out,
            model=model,
            start=start,
            training=training,
            changes=changes or (),
            folds=folds,
            seed=seed,
            run=run,
            workers=workers,
            calibrate_on=calibrate_on or (),
            note=_read(note),
            half=half,
            allow_seen=allow_seen,
            force=force,
            progress=progress,
        )
    scores, fitted = done.strict, done.calibration
    is_strict = done.evaluation == "strict"
    value = {"model": str(out), "clips": done.clips, "people": done.people}
    value |= {"strict": scores} if is_strict else {"evaluation": done.evaluation, "seen_in_training": scores}
    code_option = f" --code {model}" if ":" in model else ""
    lines = (
        f"{counted(done.clips, 'clip')} of {people(done.people)}, protocol {protocol}",
        f"{done.evaluation}, {'other people' if calibrate_on else 'grouped folds'}: "
        f"UF1 {scores['uf1']:.4f}  UAR {scores['uar']:.4f}  accuracy {scores['accuracy']:.4f}",
        f"temperature {fitted.temperature:.3g}: expected calibration error "
        f"{fitted.error_before:.3f} -> {fitted.error_after:.3f}",
        f"the model is in {out}; next: epir predict VIDEO --model {out}{code_option}",
    )
    show({**value, "calibration": asdict(fitted)}, lines, as_json=as_json)


def _read(note: Path | None) -> str:
    from epir.core.errors import ConfigError

    if note is None:
        return ""
    try:
        return note.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the note {note} cannot be read: {error}", fix="give a text file") from None


def calibrate(
    on: Annotated[list[Path], Option(help="Map sets of people the model has not seen.", show_default=False)],
    protocol: options.Protocol,
    model: options.ModelFolder = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Measure only; write nothing to the folder.")] = False,
    code: options.Code = None,
    as_json: options.AsJson = False,
) -> None:
    """Fit the temperature of a model's scores on map sets of real people, and write it to the model folder.

    The weights do not change. The reported error is cross-validated: each corpus uses the temperature of the others.

    Example: epir calibrate models/mine --on maps/casme2 --on maps/samm --protocol cde
    """
    from dataclasses import asdict

    from epir.cli.console import show

    options.check_model(model)
    from epir.final.real_people import calibrate_on_real_people

    fitted = calibrate_on_real_people(model, on, protocol=protocol, write=not dry_run)
    lines = [
        f"{counted(fitted.clips, 'clip')} of {people(fitted.people)}, protocol {fitted.protocol}",
        f"temperature {fitted.temperature_before:.3g} -> {fitted.temperature:.3g}",
        f"UF1 {fitted.uf1:.4f} ({fitted.uf1_interval[0]:.3f} to {fitted.uf1_interval[1]:.3f}), strict",
        f"expected calibration error {fitted.error_before:.3f} -> {fitted.error_after:.3f} (each corpus with the "
        f"temperature of the others; mean best score {fitted.mean_score:.3f}, right {fitted.right:.3f})",
    ]
    for name, corpus in fitted.by_corpus.items():
        lines.append(f"  {name}: temperature of the others {corpus['temperature']:.3g}, error {corpus['error']:.3f}")
    lines.append("nothing was written (--dry-run)" if dry_run else "written to the model folder")
    show(asdict(fitted), lines, as_json=as_json)


def export(
    out: Annotated[Path, Option(help="The ONNX file to write.")],
    model: options.ModelFolder = None,
    maps: Annotated[
        Path | None, Option(help="A map set to compare on, besides random maps.", show_default="synthetic maps")
    ] = None,
    int8: Annotated[
        bool, Option("--int8", help="8-bit weights and raw logits: smaller and faster, with small differences.")
    ] = False,
    logits: Annotated[
        bool, Option("--logits", help="Raw logits of a single view: no averaging over views, no temperature.")
    ] = False,
    code: options.Code = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Export a model to ONNX with a free batch size, and compare it with the original before keeping it.

    Example: epir export models/mine --out models/mine/model.onnx
    """
    from epir.cli.console import show
    from epir.core.output import check_onnx

    check_onnx(out)
    options.check_model(model)
    from epir.final.export import export as export_model
    from epir.maps.mapset import load_maps
    from epir.models.folder import find_folder, read_config
    from epir.synthetic.maps import synthetic_maps

    folder = find_folder(model)
    if maps is not None:
        compared = load_maps(maps).maps[:COMPARED_MAPS]
    else:
        settings = read_config(folder).settings
        compared = synthetic_maps(24, "direct", size=int(settings.get("map_size", 28))).maps
    done = export_model(folder, out, maps=compared, int8=int8, logits=logits, force=force)
    value = {
        "file": str(out),
        "max_difference": done.difference,
        "random_maps": done.random,
        "real_maps": done.real,
        "maps": done.maps,
        "same_answer": done.same,
        "mean_score_difference": done.scores,
        "megabytes": done.megabytes,
    }
    lines = [f"{out}: {done.megabytes:g} MB, any batch size"]
    lines.append(f"largest difference of a logit on {counted(done.maps, 'map')}: {done.difference:.2g}")
    if int8:
        lines.append(f"the same answer on {done.same} of them, scores {done.scores:.2g} apart on average")
    show(value, lines, as_json=as_json)
