"""The schema is the truth: real responses fit it, every status is named, and schemathesis finds no mismatch."""

import json
import subprocess
import sys

import pytest

from epir.web.schema import Answer, Health, LiveTicket, PredictAnswer, Status

DIFFERENT = {"input", "movements", "rejected", "attribution"}  # names of the file; more about each movement


@pytest.fixture(scope="module")
def answer(server, clip):
    import httpx

    with httpx.Client(base_url=server, timeout=None) as client:
        return client.post("/api/predict", files={"files": (clip.name, clip.read_bytes())}).json()


def test_an_answer_fits_its_type(client, answer):
    PredictAnswer.model_validate(answer, strict=True)
    status = client.get(answer["url"]).json()
    Status.model_validate(status, strict=True)
    Answer.model_validate(status["result"], strict=True)
    Health.model_validate(client.get("/api/health").json())


def test_two_pictures_and_an_example_fit_it_too(client, pictures):
    files = [("files", (path.name, path.read_bytes())) for path in pictures]
    PredictAnswer.model_validate(client.post("/api/predict", files=files).json(), strict=True)
    blink = client.post("/api/predict", files={"example": (None, "blink")})
    PredictAnswer.model_validate(blink.json(), strict=True)


def test_the_answer_is_that_of_predict_json(answer, model, clip):
    command = [sys.executable, "-m", "epir.cli.main", "predict", str(clip), "--model", str(model), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    printed = json.loads(done.stdout)
    own = printed["answers"][0] if "answers" in printed else printed
    assert {name: answer[name] for name in own if name not in DIFFERENT} == {
        name: own[name] for name in own if name not in DIFFERENT
    }
    for kind in ("movements", "rejected"):
        assert len(own[kind]) == len(answer[kind])
        for printed_one, sent in zip(own[kind], answer[kind], strict=True):
            names = [name for name in printed_one if name != "input"]
            assert {name: sent[name] for name in names} == {name: printed_one[name] for name in names}


def test_options_reach_the_recognizer(client, clip):
    files = {"files": (clip.name, clip.read_bytes())}
    unsure = client.post("/api/predict", files=files, data={"threshold": "1", "faces": "all", "sensitivity": "high"})
    assert {each["label"] for each in unsure.json()["movements"]} == {"uncertain"}
    sure = client.post("/api/predict", files=files, data={"threshold": "0"}).json()
    assert "uncertain" not in {each["label"] for each in sure["movements"]}


@pytest.mark.parametrize(
    ("field", "value", "fix"),
    [
        ("threshold", "1.5", "give a score from 0 to 1"),
        ("threshold", "nan", "give a score from 0 to 1"),
        ("sensitivity", "extreme", "use one of: low, normal, high"),
        ("faces", "none", "use one of: largest, all"),
    ],
)
def test_options_that_cannot_be_are_refused(client, clip, field, value, fix):
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
                    assert reference.endswith("/ProblemBody"), (path, status)
    assert LiveTicket.__name__ in schema["components"]["schemas"]


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
