"""What is at the place of a map set already: nothing, the same set, or another one that must not be overwritten."""

from dataclasses import fields
from pathlib import Path

from epir.core.config import differences, from_dict
from epir.core.errors import ConfigError, MapSetError
from epir.flow.recipe import Recipe
from epir.maps.mapset import MapSet, load_maps


def existing_set(out: Path, recipe: Recipe, size: int, request: str, *, force: bool) -> MapSet | None:
    """The map set at `out` if it answers the same request; `None` if there is nothing, or it may be replaced.

    Anything else there is refused, with what differs.
    """
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return None
    if not (out / "meta.json").is_file():  # not even with --force: it may be a home folder
        raise MapSetError(f"{out} is there already, and is no map set", fix="choose another name for --out")
    if force:
        return None
    try:
        found = load_maps(out)
    except MapSetError as error:
        raise MapSetError(error.problem, fix="add --force to prepare it again") from None
    if found.meta["recipe"].get("request") == request:
        return found
    raise MapSetError(
        f"{out} exists already, with {departure(found, recipe, size)}",
        fix="choose another name for --out, or add --force to replace it",
    )


def departure(found: MapSet, recipe: Recipe, size: int) -> str:
    """In words, how a map set differs from what is asked for."""
    if found.size != size:
        return f"{found.size} px maps in place of {size} px"
    written = found.meta["recipe"]
    if written.get("digest") == recipe.digest:
        return "maps of other clips, or of another version of the annotations"
    try:
        old = from_dict(Recipe, {field.name: written[field.name] for field in fields(Recipe) if field.name in written})
    except (ConfigError, TypeError):  # a recipe of another version, or maps from elsewhere
        return f"the recipe {written.get('name')!r}"
    return f"another recipe ({'; '.join(differences(old, recipe))})"
