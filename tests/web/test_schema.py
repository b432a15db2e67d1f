"""The schema is the truth: real responses fit it, every status is named, and schemathesis finds no mismatch."""

import subprocess
import sys

import pytest

from epir.web.schema import AnswerJson, HealthJson, LiveTicketJson, PredictAnswerJson, StatusJson


def test_an_answer_fits_its_type(client, answer):
    PredictAnswerJson.model_validate(answer, strict=True)
    status = client.get(answer["url"]).json()
    StatusJson.model_validate(status, strict=True)
    AnswerJson.model_validate(status["result"], strict=True)
    HealthJson.model_validate(client.get("/api/health").json())


def test_two_pictures_and_a_clip_without_a_movement_fit_it_too(client, pictures, still):
    files = [("files", (path.name, path.read_bytes())) for path in pictures]
    PredictAnswerJson.model_validate(client.post("/api/predict", files=files).json(), strict=True)
    rest = client.post("/api/predict", files={"files": (still.name, still.read_bytes())}).json()
    assert rest["movements"] == []
    PredictAnswerJson.model_validate(rest, strict=True)


def test_options_reach_the_recognizer(client, pictures):
    def labels(**options):
        files = [("files", (path.name, path.read_bytes())) for path in pictures]
        return {each["label"] for each in client.post("/api/predict", files=files, data=options).json()["movements"]}

    assert labels(threshold="1", faces="all", sensitivity="high") == {"uncertain"}
    assert "uncertain" not in labels(threshold="0")


@pytest.mark.parametrize(
    ("field", "value", "fix"),
    [
        ("threshold", "1.5", "give a score from 0 to 1"),
        ("threshold", "nan", "give a score from 0 to 1"),
        ("sensitivity", "extreme", "use one of: low, normal, high"),
        ("faces", "none", "use one of: largest, all"),
    ],
)
def test_impossible_options_are_refused(client, clip, field, value, fix):
    reply = client.post("/api/predict", files={"files": (clip.name, clip.read_bytes())}, data={field: value})
    assert reply.status_code == 422
    assert reply.json()["problem"] == f"{field} cannot be {value!r}"
    assert fix in reply.json()["fix"]


def test_every_status_is_named_and_every_error_has_its_type(client):
    schema = client.get("/openapi.json").json()
    responses = schema["paths"]["/api/predict"]["post"]["responses"]
    assert set(responses) == {
        *("200", "202", "400", "401", "403", "408", "410", "413", "415", "422", "429", "500", "503", "504")
    }
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            for status, response in operation["responses"].items():
                if status[0] in "45" and status != "416":
                    reference = response["content"]["application/json"]["schema"]["$ref"]
                    assert reference.endswith("/ProblemJson"), (path, status)
    assert LiveTicketJson.__name__ in schema["components"]["schemas"]


CONFORM = "status_code_conformance,content_type_conformance,response_schema_conformance"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "checks"),
    [
        (["--exclude-path=/api/live", "--exclude-path-regex=/events$"], f"not_a_server_error,{CONFORM}"),
        (["--include-path=/api/live"], CONFORM),  # all places for cameras may be taken
    ],
)
def test_schemathesis_finds_no_mismatch(server, which, checks):
    pytest.importorskip("schemathesis", reason="schemathesis is not installed: pip install 'epir[dev]'")
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server}/openapi.json", "--max-examples=8"]
    command += [*which, f"--checks={checks}", "--phases=examples,coverage,fuzzing", "--request-timeout=900"]
    command += ["--suppress-health-check=all", "--seed=1", "--no-color"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
