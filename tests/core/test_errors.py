import pickle

import cv2
import numpy as np
import pytest
import torch

from epir.core import errors


def kinds():
    return [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.EpirError)]


@pytest.mark.parametrize("kind", kinds())
def test_every_error_says_the_problem_and_the_fix_also_after_a_worker_sent_it(kind):
    error = pickle.loads(pickle.dumps(kind("the door is shut", fix="open it")))
    assert type(error) is kind
    assert str(error) == "the door is shut\n  fix: open it"
    assert (error.problem, error.fix) == ("the door is shut", "open it")


@pytest.mark.parametrize(
    "allocate",
    [
        lambda: np.empty(10**15),
        lambda: torch.empty(10**15),
        lambda: cv2.resize(np.zeros((2, 2), np.uint8), (30_000_000, 60_000)),
    ],
    ids=["numpy", "torch", "opencv"],
)
def test_memory_that_ran_out_is_known_whichever_library_says_so(allocate):
    with pytest.raises(Exception, match=r"(?i)allocate") as error:
        allocate()
    assert errors.is_out_of_memory(error.value) and errors.is_machine_fault(error.value)


def test_other_errors_are_not_taken_for_a_lack_of_memory():
    cuda = RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
    assert errors.is_out_of_memory(cuda)
    told = errors.RunError("a worker process died, possibly out of memory", fix="fewer workers")
    assert not errors.is_out_of_memory(told) and not errors.is_out_of_memory(ValueError("a sheet without rows"))


def test_a_missing_part_says_how_to_install_it():
    assert (
        errors.MissingExtra.named("ray", "ray").fix == 'pip install -c constraints.txt ".[ray]" in the folder of epir'
    )
