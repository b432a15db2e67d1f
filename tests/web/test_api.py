"""The REST API of a real server."""

import re
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

PICTURES = {"onset", "apex", "flow", "why", "tokens", "rollout"}


@pytest.fixture(scope="module")
def finished(wait_until):
    """The status of a job once it has ended."""

    def wait(client, id):
        def ended():
            status = client.get(f"/api/results/{id}").json()
            return status if status["state"] in ("done", "failed") else None

        return wait_until(ended)

    return wait


def files_of(*paths):
    return [("files", (path.name, path.read_bytes())) for path in paths]


@pytest.fixture(scope="module")
def done(server, answer):
    """The status of a finished job."""
    return httpx.get(f"{server}{answer['url']}").json()


def test_a_client_that_does_not_wait_gets_an_address(client, pictures, finished):
    reply = client.post("/api/predict?wait=false", files=files_of(*pictures))
    assert reply.status_code == 202
    body = reply.json()
    assert body["url"] == f"/api/results/{body['id']}" == reply.headers["location"]
    assert finished(client, body["id"])["state"] == "done"


def test_health_gives_the_model_the_queue_and_the_limits(client):
    body = client.get("/api/health").json()
    assert body["status"] == "ok"
    assert body["model"] == {"name": "epir", "classes": ["negative", "positive", "surprise"], "map_size": 28}
    assert body["queue"]["capacity"] == 8
    assert body["limits"]["bytes"] == 256 << 20
    assert body["limits"]["seconds"] == 300


def test_the_answer_equals_the_recognizers(done, recognizer, clip):
    expected = recognizer.predict(clip, name=clip.name)
    result, whole = done["result"], expected.to_dict_of_all()
    assert {name: result[name] for name in expected.to_dict()} == expected.to_dict()
    for kind in ("movements", "rejected"):
        for sent, each in zip(result[kind], whole[kind], strict=True):
            assert {name: sent[name] for name in each} == each
    assert result["frames"] == expected.frame_count
    assert result["seconds"] == pytest.approx(expected.timeline.seconds)


def test_a_finished_job_says_when_it_expires(done):
    assert done["state"] == "done"
    assert done["error"] is None
    assert done["place"] == 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", done["expires"])


def test_the_curve_has_the_events_on_its_own_axis(done):
    (curve,), result = done["result"]["curves"], done["result"]
    assert len(curve["time"]) == len(curve["energy"]) == result["frames"]
    assert curve["time"] == sorted(curve["time"])
    for event, movement in zip(curve["events"], result["movements"], strict=True):
        assert event["onset"] < event["apex"] < event["offset"] <= curve["time"][-1]
        assert event["apex"] == pytest.approx(movement["apex"] / result["fps"], abs=1e-3)
        assert event["label"] == movement["label"]


def test_every_picture_of_a_result_exists(client, done):
    result = done["result"]
    assert set(result["pictures"]) == {"why", "timeline"}
    assert all(set(each["pictures"]) == PICTURES for each in result["movements"])
    addresses = [*result["pictures"].values(), *(a for each in result["movements"] for a in each["pictures"].values())]
    for address in addresses:
        reply = client.get(address)
        assert reply.status_code == 200
        kind, start = ("image/jpeg", b"\xff\xd8") if address.endswith(".jpg") else ("image/png", b"\x89PNG")
        assert reply.headers["content-type"] == kind
        assert reply.content.startswith(start)


@pytest.mark.parametrize("name", ["flow-99.png", "onset-0.png", "..%2f..%2fetc%2fpasswd", "why.jpg", "why.png%00"])
def test_no_other_picture_exists(client, done, name):
    reply = client.get(f"/api/results/{done['id']}/{name}")
    assert reply.status_code == 404
    assert set(reply.json()) == {"problem", "fix"}


def test_two_pictures_are_onset_and_apex(client, pictures):
    reply = client.post("/api/predict", files=files_of(*pictures))
    assert reply.status_code == 200
    body = reply.json()
    assert body["input"] == "onset.png apex.png"
    assert (body["onset"], body["apex"], body["frames"]) == (0, 1, 2)
    assert body["curves"] == []
    assert set(body["pictures"]) == {"why"}
    assert client.get(f"/api/results/{body['id']}").json()["result"]["label"] == body["label"]


def test_onset_apex_and_fps_reach_the_recognizer(client, clip):
    body = client.post("/api/predict", files=files_of(clip), data={"onset": "10", "apex": "20", "fps": "50"}).json()
    assert (body["onset"], body["apex"], body["fps"]) == (10, 20, 50)


def test_an_example_is_listed_rendered_and_classified(client):
    listed = client.get("/api/examples").json()
    assert [set(each) for each in listed] == [{"name", "title", "truth", "fps", "frames"}] * len(listed)
    example = listed[0]
    video = client.get(f"/api/examples/{example['name']}/video")
    assert video.headers["content-type"] == "video/webm"
    assert video.content.startswith(b"\x1a\x45\xdf\xa3")
    part = client.get(f"/api/examples/{example['name']}/video", headers={"Range": "bytes=0-99"})
    assert (part.status_code, part.content) == (206, video.content[:100])
    body = client.post("/api/predict", files={"example": (None, example["name"])}).json()
    assert body["input"] == f"example: {example['name']}"
    assert body["frames"] == example["frames"]


def test_a_result_can_be_deleted(client, pictures):
    id = client.post("/api/predict", files=files_of(*pictures)).json()["id"]
    assert client.delete(f"/api/results/{id}").status_code == 204
    for reply in (client.get(f"/api/results/{id}"), client.delete(f"/api/results/{id}")):
        assert reply.status_code == 404
        assert reply.json() == {
            "problem": "there is no such result: it has expired, or never existed",
            "fix": "send the video again; results are kept for 30 minutes at most",
        }


TEXT = ("files", ("film.mp4", b"this is a text, longer than the bytes that are sniffed"))
PICTURE = ("files", ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(40)))
VIDEO = ("files", ("a.mp4", b"\0\0\0\x18ftypmp42" + bytes(40)))


@pytest.mark.parametrize(
    ("sent", "status", "problem", "fix"),
    [
        ([TEXT], 415, "film.mp4 is not a supported video or picture", r"send a video \(mp4, .*content"),
        ([("files", ("a.mp4", b""))], 415, "a.mp4 is empty", "send a video"),
        ([("example", (None, ""))], 422, "no file was sent", "as files, or the name of an example"),
        ([("example", (None, "smlie"))], 422, "there is no example 'smlie'", "use one of: smile, "),
        ([("example", (None, "smile")), VIDEO], 422, "both an example and a file were sent", "send one of them"),
        ([VIDEO], 422, "a.mp4 cannot be opened as a video: it is damaged", "play it in a video player"),
        ([PICTURE, PICTURE], 422, "a.png is cut short: its end is missing", "copy the file again"),
        ([VIDEO, ("onset", (None, "-1"))], 422, "onset cannot be '-1'", "the number of a frame"),
        ([VIDEO, ("fps", (None, "nan"))], 422, "fps cannot be 'nan'", "such as 200"),
        ([VIDEO, ("speed", (None, "1"))], 422, "there is no field 'speed'", "use example, name, onset"),
        ([("file", ("a.mp4", b"x" * 40))], 422, "there is no file field 'file'", "send files as files"),
        ([("example", (None, "x" * 9000))], 422, "the field example is too long", "with a file name"),
    ],
)
def test_errors_say_what_is_wrong_and_how_to_fix_it(client, sent, status, problem, fix):
    reply = client.post("/api/predict", files=sent)
    body = reply.json()
    assert (reply.status_code, set(body)) == (status, {"problem", "fix"})
    assert re.search(problem, body["problem"])
    assert re.search(fix, body["fix"])


@pytest.mark.parametrize(
    ("kind", "status", "problem"),
    [
        ("application/json", 415, "the request is not multipart/form-data"),
        ("multipart/form-data; boundary=x", 400, "the form is malformed or was cut short"),
    ],
)
def test_a_body_that_is_not_a_form(client, kind, status, problem):
    reply = client.post("/api/predict", content=b"{}", headers={"Content-Type": kind})
    assert (reply.status_code, reply.json()["problem"]) == (status, problem)


def test_the_error_of_a_job_is_in_its_status(client, finished):
    id = client.post("/api/predict?wait=false", files=[VIDEO]).json()["id"]
    status = finished(client, id)
    assert (status["state"], status["result"]) == ("failed", None)
    assert status["error"]["problem"].startswith("a.mp4 cannot be opened as a video")


def test_a_face_is_needed(client, tmp_path):
    import numpy as np

    from epir.frames.film import write_film

    grey = write_film(tmp_path / "grey.mp4", [np.full((120, 160, 3), 128, np.uint8)] * 12, 60)
    reply = client.post("/api/predict", files=files_of(grey))
    assert reply.status_code == 422
    assert reply.json()["problem"] == "no face was found"


def test_unknown_addresses(client):
    for reply, status, problem in (
        (client.get("/api/nothing"), 404, "there is no such page"),
        (client.get("/static/../app.py"), 404, "there is no such page"),
        (client.get("/api/examples/nobody/video"), 404, "there is no example 'nobody'"),
        (client.get("/api/predict"), 405, "this method is not allowed here"),
        (client.post("/api/predict?wait=perhaps"), 422, "wait cannot be 'perhaps'"),
    ):
        assert (reply.status_code, reply.json()["problem"]) == (status, problem)
        assert reply.json()["fix"]


def test_openapi_describes_the_forms_and_every_status(client):
    paths = client.get("/openapi.json").json()["paths"]
    assert "multipart/form-data" in paths["/api/predict"]["post"]["requestBody"]["content"]
    assert {"200", "413", "415", "422", "500", "503", "504"} <= set(paths["/api/predict"]["post"]["responses"])
    assert "delete" in paths["/api/results/{id}"]


@pytest.mark.parametrize("path", ["/", "/r/anything"])
def test_the_page_and_its_permalinks_are_one_page(client, path):
    reply = client.get(path)
    assert reply.headers["content-type"].startswith("text/html")
    assert "<html" in reply.text


def test_clients_at_once_get_the_recognizers_answers_or_503(server, recognizer, pictures):
    right = recognizer.predict(pictures).to_dict()

    def ask(_):
        statuses = [503]
        while statuses[-1] == 503:  # the server answers eventually, however busy the machine
            reply = httpx.post(f"{server}/api/predict", files=files_of(*pictures), timeout=None)
            statuses.append(reply.status_code)
            time.sleep(0.1 if reply.status_code == 503 else 0)
        return statuses[-1], {name: reply.json()[name] for name in ("label", "scores")}

    with ThreadPoolExecutor(4) as clients:
        answers = list(clients.map(ask, range(4)))
    assert answers == [(200, {name: right[name] for name in ("label", "scores")})] * 4
