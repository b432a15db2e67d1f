from dataclasses import replace

from epir.models.folder import shipped_folder, weights_digest
from epir.reports.provenance import command, environment_table, provenance_part


def test_the_command_names_only_what_is_not_the_default(small):
    run = small(epochs=20)
    assert command(run) == "epir evaluate maps --protocol cde --model epir --training scratch --out run"


def test_the_command_names_every_change(small):
    run = small("my run", epochs=3, seeds=2, blocks=7)
    words = command(run)
    assert "--seeds 2" in words
    assert "--set model.blocks=7" in words
    assert "--set training.epochs=3" in words
    assert words.endswith("--out 'my run'")


def test_the_command_of_a_zero_shot_run_asks_for_weights_that_are_not_the_shipped_ones(small, zero_shot):
    start = "epir evaluate MAPS --protocol cde --zero-shot"
    assert command(zero_shot) == f"{start} --weights MODEL --out zero-shot"
    shipped = small("shipped", zero_shot=True, epochs=0, pictures=False, weights=weights_digest(shipped_folder()))
    assert command(shipped) == f"{start} --out shipped"


def test_the_command_names_what_was_chosen_scored_and_allowed(small, zero_shot):
    run = small(epochs=3)
    choices = replace(
        run, experiment=replace(run.experiment, choices=("default", "training.lr=1e-4 training.epochs=5"))
    )
    assert "--nested default --nested 'training.lr=1e-4 training.epochs=5' --out run" in command(choices)
    assert " --allow-seen " in command(replace(run, experiment=replace(run.experiment, seen_in_training=True)))
    units = replace(zero_shot, environment={**zero_shot.environment, "clips_without_units": 0})
    assert " --target units --zero-shot " in command(units)


def test_the_environment_has_digests_and_versions_but_no_path(small, tmp_path):
    run = small(epochs=1)
    cells = dict(row.cells for row in environment_table(run).rows)
    assert cells["experiment"] == run.experiment.digest
    assert cells["versions"] == "epir 0.1.0, python 3.11.2"
    assert run.experiment.maps[0][:16] in cells["maps 1"]
    assert "28 px, flow recipe epir" in cells["maps 1"]
    assert str(tmp_path) not in provenance_part(run)


def test_every_setting_is_there(small):
    assert "weight_decay" in provenance_part(small(epochs=1))
