"""Usage errors: two lines and exit code 2, for every verb."""

import pytest

from epir.cli.verbs import VERBS, command_name


@pytest.fixture
def refused(epir):
    """The stderr of `epir WORDS`, which must exit with 2."""

    def call(*words):
        code, out, err = epir(*words)
        assert code == 2 and out == ""
        return err

    return call


@pytest.mark.parametrize(
    ("words", "problem", "fix"),
    [
        ("predikt", "epir has no command 'predikt'", "did you mean predict?"),
        ("xyz clip.mp4", "epir has no command 'xyz'", "see epir --help"),
        ("--modle", "epir has no option --modle", "see epir --help"),
        ("predict a.mp4 --modle b", "epir predict has no option --modle", "did you mean --model?"),
        ("predict a.mp4 --modle=b", "epir predict has no option --modle", "did you mean --model?"),
        ("predict a.mp4 -z", "epir predict has no option -z", "see epir predict --help"),
        ("list", "epir list needs the argument what", "for example epir list models"),
        ("list model", "the argument what cannot be 'model'", "did you mean 'models'?"),
        ("list xyz", "the argument what cannot be 'xyz'", "use one of: models, protocols, recipes, corpora, settings"),
        ("list models twice", "epir list has no place for 'twice'", "see epir list --help"),
        (
            "evaluate maps",
            "epir evaluate needs --protocol",
            "for example epir evaluate maps --protocol cde --folds 10 --seeds 3 --out runs/first",
        ),
        ("train --protocol", "epir train: option '--protocol' requires an argument", "see epir train --help"),
        ("train maps --force=yes", "epir train: option '--force' does not take a value", "see epir train --help"),
        ("demo --workers abc", "--workers must be a whole number, not 'abc'", "see epir demo --help"),
        ("synth out --people=3.5", "--people must be a whole number, not '3.5'", "see epir synth --help"),
        ("synth out --fps 1,5", "--fps must be a number, not '1,5'", "see epir synth --help"),
    ],
)
def test_usage_errors(refused, words, problem, fix):
    assert refused(*words.split()) == f"{problem}\nfix: {fix}\n"


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["predict", ""], "an argument"),
        (["predict", " "], "an argument"),
        (["train", "maps", "--protocol", "sde", "--out", ""], "--out"),
        (["export", "model", "--out="], "--out"),
        (["serve", "--host", ""], "--host"),
    ],
)
def test_an_empty_word_is_not_the_current_folder(refused, words, what):
    fix = "give it a value, or leave it out; a shell variable may be unset"
    assert refused(*words) == f"{what} is empty\nfix: {fix}\n"


def test_a_file_that_looks_like_an_option(refused, tmp_path, monkeypatch):
    (tmp_path / "-x.mp4").touch()
    monkeypatch.chdir(tmp_path)
    printed = refused("predict", "-x.mp4")
    assert printed == "epir predict takes -x.mp4 for an option\nfix: write ./-x.mp4 for the file of that name\n"


@pytest.mark.parametrize("verb", VERBS, ids=command_name)
def test_every_verb_names_itself(refused, verb):
    name = command_name(verb)
    assert (
        refused(name, "--no-such-option")
        == f"epir {name} has no option --no-such-option\nfix: see epir {name} --help\n"
    )
