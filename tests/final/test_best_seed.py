import json
import shutil
import subprocess
import sys

import pytest

from epir.core.errors import CheckpointError
from epir.final.best_seed import best_seed
from epir.models.folder import write_config


@pytest.fixture
def seeds(trained, tmp_path):
    """Three seeds of one training, by what their folders say: a function of their scores and other notes."""

    def make(*scores, **notes):
        folders = [tmp_path / f"seed-{number}" for number in range(len(scores))]
        for number, (folder, uf1) in enumerate(zip(folders, scores, strict=True)):
            shutil.copytree(trained.folder, folder)
            config = json.loads((folder / "config.json").read_text())
            config["notes"] |= {"seed": number, "strict": {**config["notes"]["strict"], "uf1": uf1}}
            if number == len(scores) - 1:
                config["notes"] |= notes
            write_config(folder, config)
        return folders

    return make


@pytest.mark.parametrize(("scores", "best"), [((0.7, 0.9, 0.8), 1), ((0.7, 0.7), 0), ((0.2,), 0)])
def test_the_best_on_held_out_people_is_chosen_and_the_first_of_equal_ones(seeds, scores, best):
    folders = seeds(*scores)
    assert best_seed(folders) == folders[best]


def test_the_makefile_gets_the_folder_alone(seeds):
    folders = seeds(0.1, 0.2)
    command = [sys.executable, "-m", "epir.final.best_seed", *map(str, folders)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == f"{folders[1]}\n"
    refused = subprocess.run(command[:3], capture_output=True, text=True)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "no model folder given\n  fix: name one for each seed\n"


def test_other_trainings_are_no_seeds(seeds):
    with pytest.raises(CheckpointError, match=r"seed-1 and .*seed-0 differ in 'protocol': they are not seeds"):
        best_seed(seeds(0.7, 0.9, protocol="sde-casme2"))


def test_scores_of_people_who_were_seen_choose_nothing(seeds):
    folders = seeds(0.7, 0.9)
    config = json.loads((folders[1] / "config.json").read_text())
    config["notes"]["seen_in_training"] = config["notes"].pop("strict")
    write_config(folders[1], config)
    with pytest.raises(CheckpointError, match=r"seed-1 has no strict scores"):
        best_seed(folders)
