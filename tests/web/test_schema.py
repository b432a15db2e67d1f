"""The schema is the truth: real responses fit it, and schemathesis finds no mismatch."""

import subprocess
import sys

import pytest

from epir.web.schema import Answer, Health, PredictAnswer, Status


def test_an_answer_fits_its_type(client, answer):
    PredictAnswer.model_validate(answer, strict=True)
    status = client.get(answer["url"]).json()
    Status.model_validate(status, strict=True)
    Answer.model_validate(status["result"], strict=True)
    Health.model_validate(client.get("/api/health").json())


def test_two_pictures_and_a_clip_without_a_movement_fit_it_too(client, pictures, still):
    files = [("files", (path.name, path.read_bytes())) for path in pictures]
    PredictAnswer.model_validate(client.post("/api/predict", files=files).json(), strict=True)
    rest = client.post("/api/predict", files={"files": (still.name, still.read_bytes())}).json()
    assert rest["movements"] == []
    PredictAnswer.model_validate(rest, strict=True)


def test_options_reach_the_recognizer(client, pictures):
    def labels(**options):
        files = [("files", (path.name, path.read_bytes())) for path in pictures]
        return {each["label"] for each in client.post("/api/predict", files=files, data=options).json()["movements"]}

    assert labels(threshold="1", faces="all", sensitivity="high") == {"uncertain"}
    assert "uncertain" not in labels(threshold="0")


def test_openapi_describes_the_forms_and_every_error_has_its_type(client):
    paths = client.get("/openapi.json").json()["paths"]
    assert "multipart/form-data" in paths["/api/predict"]["post"]["requestBody"]["content"]
    for operations in paths.values():
        for operation in operations.values():
            error = operation["responses"]["default"]["content"]["application/json"]["schema"]["$ref"]
            assert error.endswith("/ProblemBody") and "422" not in operation["responses"]


CONFORM = "status_code_conformance,content_type_conformance,response_schema_conformance"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "checks"),
    [
        (["--exclude-path=/api/live", "--exclude-path-regex=/events$"], f"not_a_server_error,{CONFORM}"),
        (["--include-path=/api/live"], CONFORM),  # it may well say that all places for cameras are taken
    ],
)
def test_schemathesis_finds_no_mismatch(server, which, checks):
    pytest.importorskip("schemathesis", reason="schemathesis is not installed: pip install 'epir[dev]'")
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server}/openapi.json", "--max-examples=8"]
    command += [*which, f"--checks={checks}", "--phases=examples,coverage,fuzzing", "--request-timeout=900"]
    command += ["--suppress-health-check=all", "--seed=1", "--no-color"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
