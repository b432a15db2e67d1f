import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("epir repor", "report"),
        ("epir check dfm", "dfme"),
        ("epir evaluate maps --protocol sde-m", "sde-mmew-6"),
        ("epir evaluate maps --model epir,sts", "epir,ststnet"),
        ("epir evaluate maps --training f", "finetune"),
        ("epir evaluate maps --set training.e", "training.epochs="),
    ],
)
def test_the_shell_completes_values(words, completed):
    environment = {
        **os.environ,
        "_EPIR_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
        "PATH": "",
    }
    program = "import sys; sys.argv[0] = 'epir'; from epir.cli.verbs import app; app(prog_name='epir')"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert completed in done.stdout.split(), done.stderr
