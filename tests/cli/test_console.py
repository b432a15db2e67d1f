import io

import pytest
from rich.console import Console

from epir.cli import console


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 0.0

        def monotonic(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(console, "time", clock)
    return clock


def test_a_log_gets_few_lines_with_the_time_left(clock, capsys):
    lines = console.Lines()
    lines.start("folds", 100)
    for _ in range(100):
        clock.now += 36
        lines.advance(note="casme2/01: epoch 3 of 20, 5 queued")
        lines.advance(0, note="repeated")
    printed = capsys.readouterr().err.splitlines()
    assert printed[0] == "folds: 1/100, 59.4 min left  casme2/01: epoch 3 of 20, 5 queued"
    assert printed[-1] == "folds: 100/100, 60.0 min  casme2/01: epoch 3 of 20, 5 queued"
    assert len(printed) < 60 and sum(line.startswith("folds: 100/100") for line in printed) == 1


def test_status_before_the_first_step_does_not_guess_the_time(clock, capsys):
    lines = console.Lines()
    lines.start("folds", 2)
    lines.advance(0, note="2 running")
    clock.now = 6
    lines.advance(0, note="a: epoch 1 of 9")
    assert capsys.readouterr().err == "folds: 0/2  a: epoch 1 of 9\n"


@pytest.mark.parametrize("width", [80, 200])
def test_a_terminal_gets_one_line_with_its_note_whatever_names_and_width_are(monkeypatch, width):
    screen = io.StringIO()
    monkeypatch.setattr(console, "stderr", Console(file=screen, force_terminal=True, width=width, color_system=None))
    bar = console.Bar()
    bar.start("2 of 10, interview_with_a_name_as_long_as_people_give_them_0042.mp4: spotting", 900)
    bar.advance(450)
    bar.start("epir on sde [a]", 4)
    bar.advance(4, note="casme2/01: epoch 3 of 20; casme2/02: epoch 5 of 20; casme2/03: epoch 1 of 20, 30 queued")
    bar.finish()
    assert "2 of 10, interview_with" in screen.getvalue() and "450/900" in screen.getvalue()  # no name hides the rest
    lines = [line.rstrip() for line in screen.getvalue().replace("\r", "\n").splitlines() if "4/4" in line]
    assert lines and all("epir on sde [a]" in line and "casme2/01: epoch 3" in line for line in lines)
    assert not any(
        line.startswith(" ") and "epoch" in line for line in screen.getvalue().splitlines()
    )  # no second line
