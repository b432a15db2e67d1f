"""The command `epir`: exit codes, error output and signals.

Exit codes: 0 done, 1 `check` found defects, 2 an error the user can correct, 130 interrupted, 143 terminated.
Signal handlers are installed first; typer and the verbs are slow to import and follow inside `_run`.
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
RESEND_DELAY_S = 0.1  # enough to leave the destructor that swallowed a signal


def main() -> None:
    """Run the command line. User errors print two lines; bugs show a traceback."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # file names that are not UTF-8 print unchanged
            stream.reconfigure(errors="surrogateescape")
    before, unraisable = signal.signal(signal.SIGTERM, terminate), sys.unraisablehook
    sys.unraisablehook = _resend_lost_signals(unraisable)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", EpirWarning)
            warnings.showwarning = _print_as_notes(warnings.showwarning)
            _run()
    finally:
        sys.unraisablehook = unraisable
        if signal.getsignal(signal.SIGTERM) is not ignore_signal:
            signal.signal(signal.SIGTERM, before)


def _open_closed_streams() -> None:
    """Point stdout and stderr at /dev/null if the shell closed them (`>&-`), so that no file reuses their numbers."""
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_WRONLY)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115


def terminate(number: int, frame: FrameType | None) -> None:
    """Exit through `SystemExit`, so that partly written output is removed on the way."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(TERMINATED)


def ignore_signal(number: int, frame: FrameType | None) -> None:
    """Do nothing: a signal handler for a program that is already exiting."""


def _run() -> None:
    try:
        from epir.cli.usage import run_app
        from epir.cli.verbs import app

        sys.exit(run_app(app))
    except EpirError as error:
        _fail(error)
    except KeyboardInterrupt:  # raised before typer, which would turn it into SystemExit
        _report_stop(INTERRUPTED)
        sys.exit(INTERRUPTED)
    except SystemExit as stop:
        if stop.code in (INTERRUPTED, TERMINATED):  # typer prints nothing
            _report_stop(stop.code)
        if not isinstance(stop.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)  # `epir ... | head` closed the pipe
    except Exception as error:
        if is_out_of_memory(error):
            _fail(out_of_memory())
        if not isinstance(error, OSError):
            raise
        _fail(machine_fault(error))


def _report_stop(code: int | str | None) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ignore_signal)
    word = "Interrupted" if code == INTERRUPTED else "Terminated"
    verb = next((name for name in sys.argv[1:] if not name.startswith("-")), "")
    resumes = verb in RESUMING or (verb == "predict" and "--table" in sys.argv)
    sys.stderr.write(f"{word}.\nRun the same command {'to resume' if resumes else 'to start again'}.\n")
    warnings.simplefilter("ignore")  # worker processes that were killed while working
    if "ray" in sys.modules and isinstance(code, int):  # ray's threads may crash during interpreter shutdown
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _fail(error: EpirError) -> None:
    sys.stderr.write(f"{error.problem}\nfix: {error.fix}\n")
    sys.exit(2)


def _resend_lost_signals(show_others: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A `sys.unraisablehook` that resends a signal whose exception Python dropped in a destructor or callback.

    This is not rare: the import system runs such a callback for every module it loads.
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
        timer = threading.Timer(RESEND_DELAY_S, os.kill, (os.getpid(), number))
        timer.daemon = True
        timer.start()

    return show


def _print_as_notes(show_others: Callable[..., None]) -> Callable[..., None]:
    """A `warnings.showwarning` that prints each `EpirWarning` once, on one line, and passes on all other warnings."""
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
