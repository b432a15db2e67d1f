import os
import subprocess
import sys

import pytest

from epir.cli import options


def test_values_are_completed():
    assert options.complete_protocols("sde-casme3") == ["sde-casme3", "sde-casme3-4", "sde-casme3-7"]
    assert options.complete_models("epir,sts") == ["epir,ststnet"]
    assert options.complete_recipes("f") == ["finetune"]
    assert options.complete_corpora("sam") == ["samm", "samm-lv"]
    assert "training.epochs=" in options.complete_settings("training.e")


@pytest.mark.parametrize(
    ("words", "found"),
    [("epir evaluate maps --protocol sde-m", "sde-mmew-6"), ("epir check dfm", "dfme"), ("epir repor", "report")],
)
def test_the_shell_gets_them(words, found):
    environment = {
        **os.environ,
        "_EPIR_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
        "PATH": "",
    }
    program = "import sys; sys.argv[0] = 'epir'; from epir.cli.verbs import app; app(prog_name='epir')"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert found in done.stdout.split(), done.stderr
