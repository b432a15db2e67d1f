"""What the sections of the page say."""

import re
from dataclasses import replace

import numpy as np

from epir.reports.page import run_parts, sweep_parts
from epir.reports.pictures import Sources, find_sources
from epir.reports.sections import (
    hardest_part,
    moved_words,
    page_header,
    people_part,
    tokens_part,
    warnings,
)


def said(runs):
    return " ".join(warnings(runs))


QUICK = {"corpora": {"casme2": 2}, "pictures": False, "epochs": 1}


def test_the_headline_is_that_of_scores_json(small):
    run = small(corpora={"casme2": 1, "samm": 1, "smic": 1}, seeds=2, epochs=4)
    header = page_header([run])
    for column in ("strict", "best_epoch"):
        for name in ("uf1", "uar", "accuracy"):
            assert f"{run.scores[column][name]:.4f}" in header
    for number, noun in (("clips", "clips"), ("people", "people"), ("folds", "folds"), ("seeds", "seeds")):
        assert f"{run.scores[number]} {noun}" in header
    assert "Micro-expression recognition; CASME II, SAMM, SMIC." in header


def test_both_columns_have_a_matrix_for_all_clips_and_for_each_corpus(one):
    names = re.findall(r'aria-label="Confusion matrix, ([^.]*)\.', one)
    parts = ("all clips", "CASME II", "SAMM", "SMIC")
    assert names == [f"{part}, {label}" for label in ("strict", "best epoch (leaks)") for part in parts]


def test_every_person_has_a_bar_and_every_part_a_place_in_the_contents(one):
    bars = one[one.index('<div class="people">') : one.index('<section id="learning">')]
    assert all(f">{corpus}/sub01</text>" in bars for corpus in ("casme2", "samm", "smic"))
    sections = re.findall(r'<section id="([^"]*)">', one)
    assert " ".join(sections) == (
        "scores confusions people learning hardest conventions tokens cost provenance glossary"
    )
    assert re.findall(r'<a href="#([^"]*)">', one) == sections


def test_many_people_are_spread_over_three_columns(small):
    text = people_part(small(corpora={"casme2": 14}, pictures=False, epochs=1))
    assert text.count("<svg") == 3
    assert text.count("accuracy, strict; dashes") == 3


def test_a_run_without_a_wrong_answer_has_no_hardest_clips(small):
    run = small(skill=9.0, epochs=40, pictures=False)
    assert "Every seed classified every clip correctly (strict)." in hardest_part(run)


def test_maps_that_are_missing_cost_the_pictures_and_leave_a_note(small):
    text = tokens_part(small(corpora={"casme2": 1}, epochs=2), Sources({}, note="not found"), faces=True)
    assert ">strain</text>" not in text
    assert '<p class="note">not found</p>' in text
    assert "head 3" in text  # the tokens are in the run itself


def test_a_model_without_epochs_or_tokens_says_so(small, render):
    text = render(small(model="bi-woof", **{**QUICK, "epochs": 0}))
    assert "Nothing was trained over epochs, so there are no curves." in text
    assert "bi-woof: trained without epochs" in text
    assert "This model records no tokens." in text


def test_synthetic_faces_are_called_so(small):
    assert "not how well people are recognised" in said([small(corpora={"synthetic": 3}, pictures=False, epochs=1)])


def test_a_run_of_part_of_the_composite_is_not_silently_compared_with_the_whole(one, small):
    assert "The whole composite has 442 clips of 68 people, this run has " in one
    other = small(corpora={"smic": 4}, protocol="sde-smic", pictures=False, epochs=1)
    assert "whole composite" not in said([other])


def test_pictures_are_shown_for_a_few_runs_only(small):
    run = small(corpora={"casme2": 1}, epochs=2)
    parts = {number: dict(tokens_of(run, number)) for number in (3, 4)}
    assert "Right answers" in parts[3]["What the model looked at"]
    assert "epir report run shows those of this run" in parts[4]["What the model looked at"]


def tokens_of(run, number):
    return [(title, content) for _, title, content in run_parts(run, Sources({}), faces=False, number=number)]


def test_faces_are_shown_with_a_word_about_licences_unless_left_out(with_faces, render):
    run, _ = with_faces
    text = render(run)
    assert "image/jpeg" in text
    assert "--no-faces" in text
    without = tokens_part(run, find_sources(run), faces=False)
    assert "image/png" in without
    assert "image/jpeg" not in without
    assert "--no-faces" not in without


def test_several_runs_are_side_by_side_with_a_paired_test_and_the_first_open(small, render):
    runs = [small("a", **QUICK), small("b", model="ststnet", **QUICK)]
    text = render(*runs)
    assert re.findall(r'<details class="run" id="run-\d"( open)?>', text) == [" open", ""]
    assert "Difference to epir (training" in text
    assert "model.name: epir -&gt; ststnet" in text
    assert "settings only epir has: attention" in text
    assert "unset" not in text


def test_a_sweep_has_its_charts_and_its_pictures(rates):
    text = "".join(content for _, _, content in sweep_parts(rates, find_sources(rates[0]), faces=True))
    assert "UF1 against the integration rate" in text
    assert "Each token is drawn as the mean of its patches" in text


def test_a_zero_shot_run_has_no_best_epoch_anywhere_but_in_the_glossary(zero_shot, render):
    text = render(zero_shot)
    before, glossary = text.split('<section id="glossary">')
    body = before[before.index("<body>") :]
    assert "A zero-shot run trains nothing: it has strict scores and no best epoch." in body
    ours = re.sub(r"published: best epoch \(leaks\)", "", body)
    published = ours.index('class="note">Published scores')
    assert "leaks" not in ours[:published]
    assert "first weights: sha256 01234567" in body
    assert "leaks" in glossary


def test_runs_of_different_training_carry_a_warning(small):
    warning = "These runs differ in their training or first weights"
    changed = {**QUICK, "epochs": 20}
    assert warning in said([small("a", **QUICK), small("b", model="vit", **changed)])
    assert warning not in said([small("a", **QUICK), small("b", model="vit", **QUICK)])


def test_the_words_of_a_map_say_what_moved():
    rows, columns = (np.mgrid[0:28, 0:28] + 0.5) / 28
    flow_map = np.zeros((3, 28, 28), np.float32)
    flow_map[1] = -0.6 * np.exp(-0.5 * (((columns - 0.28) / 0.08) ** 2 + ((rows - 0.7) / 0.08) ** 2))
    assert moved_words(flow_map).startswith("Right lip corner up; 2.")
    assert moved_words(flow_map - flow_map.min()) == ""  # stretched: no sign
    assert moved_words(None) == ""


def with_units(run):
    """The run as `--target units` would have made it."""
    one = {"there": 3, "found": 2.0, "f1": 0.8, "interval": [0.5, 0.9], "always": 0.4}
    mean = {"f1": 0.71, "interval": [0.6, 0.8], "units": 1}
    part = {"units": {"12": one}, "mean": {"all": mean, "cd6me": mean}}
    units = {**part, "always_positive": {"all": 0.4, "cd6me": 0.4}, "parts": {"casme2": part}}
    units |= {"clips": 4, "people": 2, "without_annotation": 0}
    return replace(run, scores={**run.scores, "units": units})


def test_with_the_target_units_the_report_leads_with_units(plain):
    run = with_units(plain)
    parts = [ident for ident, _, _ in run_parts(run, Sources({}), faces=False, number=1)]
    assert parts[-2:] == ["units", "tokens"]  # a model with a head, evaluated for its classes
    assert "action units" not in page_header([run])
    run = replace(run, environment={**run.environment, "clips_without_units": 0})
    assert run_parts(run, Sources({}), faces=False, number=1)[0][0] == "units"
    header = page_header([run])
    assert header.index("0.7100") < header.index(f"{run.scores['strict']['uf1']:.4f}")
    assert "Action units of micro-expressions" in header
