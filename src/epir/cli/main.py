"""The command `epir`: its exit codes, its errors and how it is stopped.

0 done, 1 `check` found defects, 2 something the user can correct, 130 interrupted, 143 terminated.
Signals are heeded before anything else is imported: the verbs and typer are imported inside.
"""

import atexit
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

from epir.core.errors import EpirError, EpirWarning, is_out_of_memory, machine_fault, out_of_memory

INTERRUPTED, TERMINATED = 130, 143
RESUMING = ("demo", "prepare", "evaluate", "benchmark", "ablate", "reproduce", "train", "spot", "annotate")
SECONDS_TO_LEAVE = 0.1  # a destructor in which a signal was lost


def main() -> None:
    """Run the command line; errors that the user can correct take two lines, bugs show their traceback."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # names of files that are not UTF-8 are printed as they are
            stream.reconfigure(errors="surrogateescape")
    before, unraisable = signal.signal(signal.SIGTERM, terminate), sys.unraisablehook
    sys.unraisablehook = _resend_lost_signals(unraisable)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", EpirWarning)
            warnings.showwarning = _notes(warnings.showwarning)
            _run()
    finally:
        sys.unraisablehook = unraisable
        if signal.getsignal(signal.SIGTERM) is not ignore_signal:
            signal.signal(signal.SIGTERM, before)


def _open_closed_streams() -> None:
    """Give stdout and stderr a place to write to where the shell has closed them (`>&-`), and no file their numbers."""
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_WRONLY)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115


def terminate(number: int, frame: FrameType | None) -> None:
    """End in good order: what is half written is removed on the way out."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
    sys.exit(TERMINATED)


def ignore_signal(number: int, frame: FrameType | None) -> None:
    """What a second signal does, while the program is ending already: nothing."""


def _run() -> None:
    try:
        from epir.cli.usage import call
        from epir.cli.verbs import app

        sys.exit(call(app))
    except EpirError as error:
        _fail(error)
    except KeyboardInterrupt:  # before typer, which catches it else, has begun
        _tell_of_stop(INTERRUPTED)
        sys.exit(INTERRUPTED)
    except SystemExit as stop:
        if stop.code in (INTERRUPTED, TERMINATED):  # typer prints nothing
            _tell_of_stop(stop.code)
        if not isinstance(stop.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)  # `epir ... | head`: the reader has closed the pipe
    except Exception as error:
        if is_out_of_memory(error):
            _fail(out_of_memory())
        if not isinstance(error, OSError):
            raise
        _fail(machine_fault(error))


def _tell_of_stop(code: int | str | None) -> None:
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, ignore_signal)
    word = "Interrupted" if code == INTERRUPTED else "Terminated"
    verb = next((name for name in sys.argv[1:] if not name.startswith("-")), "")
    resumes = verb in RESUMING or (verb == "predict" and "--table" in sys.argv)
    what = "to resume" if resumes else "to start again"
    sys.stderr.write(f"{word}.\nRun the same command {what}.\n")
    warnings.simplefilter("ignore")  # of worker processes that are ended in the middle of their work
    if "ray" in sys.modules and isinstance(code, int):  # whose threads may crash when Python takes itself apart
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _fail(error: EpirError) -> None:
    sys.stderr.write(f"{error.problem}\nfix: {error.fix}\n")
    sys.exit(2)


def _resend_lost_signals(show_others: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A `sys.unraisablehook` for signals that arrive in a destructor or a callback: Python drops what they raise there.

    They are sent again when it has been left. The locks of imports alone have such a callback for every module.
    """

    def show(lost: Any) -> None:
        number = signal.SIGINT if isinstance(lost.exc_value, KeyboardInterrupt) else signal.SIGTERM
        is_stop = number == signal.SIGINT or (
            isinstance(lost.exc_value, SystemExit) and lost.exc_value.code == TERMINATED
        )
        if not is_stop:
            show_others(lost)
            return
        if number == signal.SIGTERM:
            signal.signal(number, terminate)
        again = threading.Timer(SECONDS_TO_LEAVE, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()

    return show


def _notes(show_others: Callable[..., None]) -> Callable[..., None]:
    """A `warnings.showwarning` that prints our own warnings as one line each, once, and leaves others as they were."""
    seen = set()

    def show(message: Warning | str, category: type[Warning], *rest: Any) -> None:
        if not issubclass(category, EpirWarning):
            show_others(message, category, *rest)
        elif str(message) not in seen:
            seen.add(str(message))
            sys.stderr.write(f"note: {message}\n")

    return show


if __name__ == "__main__":
    main()
