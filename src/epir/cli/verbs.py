"""Every verb of the command line, in the order in which `epir --help` lists them."""

from collections.abc import Callable
from typing import Any

VERBS: tuple[Callable[..., Any], ...] = ()
