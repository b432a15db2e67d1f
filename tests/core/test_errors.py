import pickle

import pytest

from epir.core import errors


def kinds():
    return [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.EpirError)]


@pytest.mark.parametrize("kind", kinds())
def test_every_error_says_the_problem_and_the_fix_also_after_a_worker_sent_it(kind):
    error = pickle.loads(pickle.dumps(kind("the door is shut", fix="open it")))
    assert type(error) is kind
    assert str(error) == "the door is shut\n  fix: open it"
    assert (error.problem, error.fix) == ("the door is shut", "open it")


def test_a_missing_part_says_how_to_install_it():
    assert (
        errors.MissingExtra.named("ray", "ray").fix == 'pip install -c constraints.txt ".[ray]" in the folder of epir'
    )
