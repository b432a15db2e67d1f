"""What the sections of the page say."""

import re

import pytest


def words(text):
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())


@pytest.fixture
def one(small, render):
    return render(small(seeds=2, epochs=4))


def test_the_headline_is_that_of_scores_json(small, render):
    run = small(seeds=2, epochs=3)
    text = render(run)
    header = text[text.index("<header>") : text.index("</header>")]
    for column in ("strict", "best_epoch"):
        for name in ("uf1", "uar", "accuracy"):
            assert f"{run.scores[column][name]:.4f}" in header
    for number, noun in (("clips", "clips"), ("people", "people"), ("folds", "folds"), ("seeds", "seeds")):
        assert f"{run.scores[number]} {noun}" in header


def test_both_columns_have_a_matrix_for_all_clips_and_for_each_corpus(one):
    captions = [words(each) for each in re.findall(r"<caption>(.*?)</caption>", one)]
    parts = ("all clips", "CASME II", "SAMM", "SMIC")
    assert captions == [f"{part} {label}" for label in ("strict", "best epoch (leaks)") for part in parts]


def test_every_person_has_a_bar_and_every_part_a_place_in_the_contents(one, small):
    run = small("again", epochs=1)
    bars = one[one.index('<ol class="people">') : one.index("</ol>")]
    assert bars.count("<li>") == run.scores["people"]
    sections = ["scores", "confusions", "people", "learning", "hardest", "tokens", "cost", "provenance", "glossary"]
    assert re.findall(r'<section id="([^"]*)">', one) == sections
    assert re.findall(r'<a href="#([^"]*)">', one) == sections


def test_a_run_without_a_wrong_answer_has_no_hardest_clips(small, render):
    assert "Every clip was answered right by every seed (strict)." in render(small(skill=9.0, epochs=40))


def test_maps_that_are_missing_cost_the_pictures_and_leave_a_note(small, tmp_path, render):
    run = small(epochs=2)
    (tmp_path / "maps").rename(tmp_path / "gone")
    text = render(run)
    assert "<image" not in text
    assert "The map set was not found" in text
    assert "head 3" in text  # the tokens are in the run itself


def test_a_class_without_clips_is_shown_as_empty(small, invented_clips, render):
    text = render(small(clips=[clip for clip in invented_clips if clip.emotion != "surprise"], epochs=2))
    assert "this class has no clips here" in text
    visible = re.sub(r"data:[^\"]*", "", text)
    assert not re.search(r"\bnan\b", visible, re.IGNORECASE)


def test_a_model_without_epochs_or_tokens_says_so(small, render):
    text = render(small(model="bi-woof", tokens=False, epochs=0))
    assert "Nothing was trained over epochs, so there are no curves." in text
    assert "bi-woof: trained without epochs" in text
    assert "This model records no tokens." in text


def test_synthetic_faces_are_called_so(small, render):
    assert "not how well people are recognised" in render(small(corpora={"synthetic": 3}, epochs=1))


def test_a_run_of_part_of_the_composite_is_not_silently_compared_with_the_whole(one, small, render):
    assert "The whole composite has 442 clips of 68 people, this run has " in one
    assert "whole composite" not in render(small("other", corpora={"smic": 4}, protocol="sde-smic", epochs=1))


def test_pictures_are_shown_for_a_few_runs_only(small, render):
    runs = [small(f"r{blocks}", blocks=blocks, epochs=1) for blocks in (7, 8, 9, 10)]
    text = render(*runs)
    assert "epir report r10 shows those of this one" in text
    assert text.count("Right answers") == 3


def test_faces_are_shown_with_a_word_about_licences_unless_left_out(with_faces, render):
    run, _ = with_faces
    text = render(run)
    assert "image/jpeg" in text
    assert "--no-faces" in text
    without = render(run, faces=False)
    assert "image/jpeg" not in without
    assert "--no-faces" not in without


def test_several_runs_are_side_by_side_with_a_paired_test_and_the_first_open(small, render):
    runs = [small("a", epochs=2), small("b", epochs=2, model="ststnet", tokens=False)]
    text = render(*runs)
    assert re.findall(r'<details class="run" id="run-\d"( open)?>', text) == [" open", ""]
    assert "Difference to epir (training" in text
    assert "model.name: epir -&gt; ststnet" in text


def test_a_sweep_has_its_charts_and_its_pictures(small, render):
    runs = [small("a", epochs=1, integration=0.0, merges=0), small("b", epochs=1, integration=0.3, merges=5)]
    text = render(*runs)
    assert "UF1 against the integration rate" in text
    assert "Each token is drawn as the mean of its patches" in text


def test_a_zero_shot_run_has_no_best_epoch_anywhere_but_in_the_glossary(zero_shot, render):
    text = render(zero_shot)
    before, glossary = text.split('<section id="glossary">')
    body = before[before.index("<body>") :]
    assert "A zero-shot run trains nothing: it has strict scores and no best epoch." in body
    ours = re.sub(r"published: best epoch \(leaks\)|[^.<>]*\(leaks\) uses the answers\.", "", body)
    published = ours.index('class="note">Published scores')
    assert "leaks" not in ours[:published]
    assert 'class="tick"' not in ours
    assert "matrix best_epoch" not in ours
    assert "first weights: sha256 01234567" in body
    assert "leaks" in glossary


def test_runs_of_different_training_carry_a_warning(small, render):
    warning = "These runs differ in their training or first weights"
    assert warning in render(small("a", epochs=2), small("b", epochs=20, model="vit"))
    assert warning not in render(small("c", epochs=2), small("d", epochs=2, model="vit"))
