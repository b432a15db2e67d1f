"""From recordings to a coded corpus without a browser: two coders, adjudication, export, check, prepare, evaluate."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from epir.annotation.adjudication import AGREED, adopt, disagreements
from epir.annotation.study import Study
from epir.cli.verbs import app
from epir.datasets.intervals import read_intervals
from epir.spotting.timeline import OVERLAP, overlap

PEOPLE = 3


def epir(*words):
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def answer(*words):
    return json.loads(epir(*words, "--json"))


def known_movements(study, folder):
    """What the synthetic people show: recording, onset, apex, offset, kind, emotion; frames counted from 0."""
    ids = {Path(each.path).stem: each.id for each in study.recordings()}
    for video in read_intervals(folder / "intervals.csv"):
        for one in video.intervals:
            frames = [number - video.first for number in (one.onset, one.apex, one.offset)]
            yield ids[video.name], *frames, one.kind, one.emotion


def code(study, coder, folder, *, later=0):
    """Accept what is a known movement, mark what was not proposed, reject the rest; key frames `later` by so many."""
    left = [each for each in study.movements() if each.source == "spotter"]
    for recording, onset, apex, offset, kind, emotion in known_movements(study, folder):
        here = [each for each in left if each.recording == recording]
        best = max(here, key=lambda each: overlap((onset, offset), (each.onset, each.offset)), default=None)
        frames = {"onset": onset, "apex": apex + later, "offset": offset + later}
        if best is not None and overlap((onset, offset), (best.onset, best.offset)) >= OVERLAP:
            study.decide(coder, best.id, state="accept", kind=kind, emotion=emotion, **frames)
            left.remove(best)
        else:
            study.mark(coder, recording, *frames.values(), kind=kind, emotion=emotion)
    for each in left:
        study.decide(coder, each.id, state="reject")


@pytest.mark.slow
def test_two_coders_make_a_corpus_that_is_evaluated(tmp_path):
    long, folder = tmp_path / "long", tmp_path / "study"
    epir("synth", long, "--long", "--people", PEOPLE, "--seconds", 12)
    epir("annotate", long, "--out", folder, "--spot-only")
    toml = (folder / "study.toml").read_text(encoding="utf-8")
    words = 'emotions = ["negative", "positive", "surprise"]'
    lines = [words if line.startswith("emotions") else line for line in toml.splitlines()]
    (folder / "study.toml").write_text("\n".join(lines), encoding="utf-8")

    with Study.open(folder) as study:
        assert {each.state for each in study.recordings()} == {"done"}
        truth = list(known_movements(study, long))
        code(study, "anna", long)
        code(study, "ben", long, later=1)
        ours = [each for each in study.decisions("ben") if each.state == "accept" and each.kind == "micro"]
        other = "negative" if ours[0].emotion != "negative" else "positive"
        study.decide("ben", ours[0].movement, emotion=other)
        study.decide("ben", ours[-1].movement, state="reject")

    agreed = answer("agree", folder)
    (pair,) = agreed["pairs"]
    assert (pair["matched"], pair["emotion"]["same"]) == (len(truth) - 1, len(truth) - 2)
    assert [case["differs"] for case in agreed["disagreements"]] == [["emotion"], ["presence"]]

    with Study.open(folder) as study:
        assert adopt(study) > 0
        for case in disagreements(study):
            chosen = vars(case.decisions["anna"])
            copied = {name: chosen[name] for name in ("state", "onset", "apex", "offset", "kind", "emotion")}
            study.decide(AGREED, case.movement, **copied)
        assert all(case.settled for case in disagreements(study))
        settled = [each for each in study.decisions("agreed") if each.state == "accept"]
    assert len(settled) == len(truth)

    manifest, micro = tmp_path / "manifest.csv", [each for each in settled if each.kind == "micro"]
    epir("annotate", folder, "--export", manifest, "--export", tmp_path / "intervals.csv")
    checked = answer("check", "manifest", manifest)
    people = len({each[0] for each in truth if each[4] == "micro"})
    assert (checked["clips"], checked["people"], checked["defects"]) == (len(micro), people, [])
    again = [one for video in read_intervals(tmp_path / "intervals.csv") for one in video.intervals]
    assert [(one.onset, one.kind, one.emotion) for one in again] == [(each[1], *each[4:]) for each in truth]

    epir("prepare", "manifest", manifest, "--out", tmp_path / "maps")
    scores = answer("evaluate", tmp_path / "maps", "--protocol", "cde", "--zero-shot", "--out", tmp_path / "run")
    assert scores["clips"] == len(micro)
