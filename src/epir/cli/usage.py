"""Usage errors of typer, rewritten as two lines like every other error: unknown names, missing or wrong values."""

import os
import re
import sys
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, Literal, get_args, get_origin, get_type_hints

import typer

from epir.cli.verbs import VERBS, Verb, command_name
from epir.core.errors import ConfigError

NUMBERS = {int: "a whole number", float: "a number"}
exceptions = sys.modules[typer.BadParameter.__module__]  # click's, or the copy of click that newer typers bundle


def run_app(app: typer.Typer) -> int:
    """Run the command line and return its exit code; `ConfigError` for a usage error."""
    _check_not_empty(sys.argv)
    try:
        return app(standalone_mode=False) or 0
    except exceptions.UsageError as error:
        if isinstance(error, getattr(exceptions, "NoArgsIsHelpError", ())):  # `epir` alone has printed the help
            return 2
        raise in_two_lines(error, sys.argv[1:]) from None


def _check_not_empty(words: list[str]) -> None:
    """Raise for an empty value: `--out "$OUT"` with OUT unset would mean the current folder."""
    for before, word in pairwise(words):
        name, is_option, value = word.partition("=") if word.startswith("--") else (before, "", word)
        if value.strip() or (word.startswith("-") and not is_option):
            continue
        what = name if name.startswith("-") else "an argument"
        raise ConfigError(f"{what} is empty", fix="give it a value, or leave it out; a shell variable may be unset")


def in_two_lines(error: Any, words: list[str]) -> ConfigError:
    """The error for `words`, with the nearest known name if one is close."""
    verbs = {command_name(verb): verb for verb in VERBS}
    first = next((word for word in words if not word.startswith("-")), None)
    verb = verbs.get(first or "")
    name = "epir" if verb is None else f"epir {first}"
    if isinstance(error, exceptions.NoSuchOption):
        word = next((word for word in words if word.startswith(error.option_name)), "")
        if os.path.exists(word):
            return ConfigError(f"{name} takes {word} for an option", fix=f"write ./{word} for the file of that name")
        visible = [param for param in error.ctx.command.params if not getattr(param, "hidden", False)]
        known = [option for param in visible for option in param.opts]
        return _unknown(f"{name} has no option {error.option_name}", error.option_name, known, name)
    if verb is None and first is not None:
        return _unknown(f"epir has no command {first!r}", first, list(verbs), name)
    if verb is not None and isinstance(error, exceptions.MissingParameter):
        return ConfigError(f"{name} needs {_name(error.param)}", fix=f"for example {_example(verb)}")
    if verb is not None and isinstance(error, exceptions.BadParameter) and error.param is not None:
        return _wrong_value(error, verb, words[words.index(command_name(verb)) + 1 :])
    if extra := re.search(r"unexpected extra arguments?(?:\(s\))? \((.*)\)", error.format_message()):
        return ConfigError(f"{name} has no place for {extra[1]!r}", fix=_help(name))
    problem = error.format_message().rstrip(".")
    return ConfigError(f"{name}: {problem[:1].lower()}{problem[1:]}", fix=_help(name))


def _unknown(problem: str, typed: str, known: list[str], name: str) -> ConfigError:
    near = get_close_matches(typed, known, n=1)
    return ConfigError(problem, fix=f"did you mean {near[0]}?" if near else _help(name))


def _wrong_value(error: Any, verb: Verb, words: list[str]) -> ConfigError:
    """The error for a value of the wrong type; `words` are those after the verb."""
    name = _name(error.param)
    value = error.ctx.command.make_parser(error.ctx).parse_args(list(words))[0].get(error.param.name)
    types = _leaves(get_type_hints(verb)[error.param.name])
    if choices := [choice for choice in types if isinstance(choice, str)]:
        near = get_close_matches(str(value), choices, n=1)
        fix = f"did you mean {near[0]!r}?" if near else f"use one of: {', '.join(choices)}"
        return ConfigError(f"{name} cannot be {value!r}", fix=fix)
    number = next((NUMBERS[kind] for kind in types if kind in NUMBERS), None)
    problem = f"{name} must be {number}, not {value!r}" if number else f"{name}: {error.message}"
    return ConfigError(problem, fix=_help(f"epir {command_name(verb)}"))


def _leaves(hint: Any) -> list[Any]:
    """The types inside a union or list, and the values of a literal."""
    parts = get_args(hint)
    if get_origin(hint) is Literal or not parts:
        return list(parts) or [hint]
    return [leaf for part in parts for leaf in _leaves(part)]


def _name(param: Any) -> str:
    return str(param.opts[0]) if param.param_type_name == "option" else f"the argument {param.name}"


def _example(verb: Verb) -> str:
    example = re.search(r"Example: (epir .*)", verb.__doc__ or "")
    assert example, f"{command_name(verb)} has no example"
    return example[1]


def _help(name: str) -> str:
    return f"see {name} --help"
