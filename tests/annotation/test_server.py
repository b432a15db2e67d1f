"""The desk over HTTP: access, saving, blind coding, and exact frames."""

import json
import re

import cv2
import numpy as np
import pytest
from starlette.testclient import TestClient

from epir.annotation.picture import Pictures
from epir.annotation.server import PAGE, Desk, create_desk_app
from epir.annotation.study import Study

TOKEN = "a-long-secret"


@pytest.fixture
def client_of():
    def make(study, coder="anna", *, blind=False, token=TOKEN):
        desk = Desk(study, Pictures(study), coder, blind)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return TestClient(create_desk_app(desk, TOKEN, 1), base_url="http://127.0.0.1", headers=headers)

    return make


def first(study, recording=None):
    return study.movements(recording)[0].id


def test_nobody_gets_in_without_the_token(desk_study, client_of):
    study = desk_study()
    stranger = client_of(study, token=None)
    for path in ("/api/study", "/api/movements", "/api/recordings/1/frames/3"):
        assert stranger.get(path).status_code == 401
    assert stranger.get("/").status_code == 401
    entered = stranger.get(f"/?token={TOKEN}")  # sets a cookie and leads to the page
    assert entered.status_code == 200 and "desk" in entered.text
    assert stranger.get("/api/study").json()["coder"] == "anna"


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"}, {"Origin": "null"}],
)
def test_another_origin_cannot_decide(desk_study, client_of, headers):
    study = desk_study()
    answer = client_of(study).post(f"/api/movements/{first(study)}", json={"state": "accept"}, headers=headers)
    assert answer.status_code in (400, 403) and study.history() == []


def test_a_decision_is_on_the_disk_before_the_response(desk_study, client_of):
    study = desk_study()
    client, id = client_of(study), first(study)
    change = {"state": "accept", "emotion": "fear", "units": [{"number": 4, "side": "left", "intensity": "B"}]}
    answer = client.post(f"/api/movements/{id}?after=0", json=change).json()
    with Study.open(study.folder) as other:
        (held,) = other.decisions("anna")
    assert (held.state, held.emotion, str(held.units[0])) == ("accept", "fear", "L4B")
    assert answer["decision"]["action"] == held.action
    rows = client.get("/api/movements?recording=1").json()["rows"]
    assert [row["state"] for row in rows].count("accept") == 1


def test_a_second_window_gets_a_message_and_overwrites_nothing(desk_study, client_of):
    study = desk_study()
    one, two, id = client_of(study), client_of(study), first(study)
    assert one.post(f"/api/movements/{id}?after=0", json={"state": "accept"}).status_code == 200
    refused = two.post(f"/api/movements/{id}?after=0", json={"state": "reject"})
    assert refused.status_code == 409 and "another window" in refused.json()["problem"]
    assert study.decisions("anna")[0].state == "accept"


def test_undo_and_redo_say_which_movement(desk_study, client_of):
    study = desk_study()
    client, id = client_of(study), first(study)
    assert client.post("/api/undo").json() == {"movement": None}
    client.post(f"/api/movements/{id}", json={"state": "accept"})
    assert client.post("/api/undo").json()["movement"]["decision"] is None
    assert client.post("/api/redo").json()["movement"]["decision"]["state"] == "accept"
    assert [each["kind"] for each in client.get(f"/api/movements/{id}/history").json()] == ["decide", "undo", "redo"]


def test_a_blind_coder_gets_no_proposal_before_deciding(desk_study, client_of):
    """No response of any route contains a word of it."""
    study = desk_study()
    client, ids = client_of(study, blind=True), [each.id for each in study.movements()]

    def everything():
        paths = ["/api/study", "/api/status", "/api/movements", "/api/disagreements", "/api/recordings/1/curves"]
        paths += [f"/api/movements/{id}{more}" for id in ids for more in ("", "/history")]
        return "".join(client.get(path).text for path in paths)

    assert "secret" not in everything() and "positive" not in everything()
    client.post(f"/api/movements/{ids[0]}", json={"onset": 12})  # an edit is not a decision
    client.post(f"/api/movements/{ids[0]}", json={"note": "looks like one"})
    assert "secret" not in everything()
    client.post(f"/api/movements/{ids[0]}", json={"state": "accept"})
    client.post(f"/api/movements/{ids[0]}", json={"units": [{"number": 4}]})
    assert "secret" not in everything() and study.decisions("anna")[0].blind  # its emotion is not named yet
    answer = client.post(f"/api/movements/{ids[0]}", json={"state": "unsure"}).json()
    assert answer["proposal"]["words"] == "secret 0." and not answer["hidden"]
    assert re.findall(r"secret \d", everything()) == ["secret 0"]
    assert study.decisions("anna")[0].blind
    assert client_of(study, "ben").get(f"/api/movements/{ids[1]}").json()["proposal"]["class"] == "positive"


def test_only_what_is_coded_before_the_proposal_is_shown_counts_as_blind(desk_study, client_of):
    study = desk_study()
    client, id = client_of(study, blind=True), first(study)

    def change(**fields):
        answer = client.post(f"/api/movements/{id}", json=fields).json()
        return answer["hidden"], answer["decision"]["blind"]

    assert change(state="accept") == (True, True)
    assert change(units=[{"number": 12}]) == (True, True)
    assert change(emotion="happiness") == (False, True)  # named before it was shown
    assert change(emotion="surprise") == (False, False)
    for step in ("undo", "undo", "redo", "undo", "undo", "undo"):
        assert not client.post(f"/api/{step}").json()["movement"]["hidden"]  # what was seen stays seen
    assert study.decisions("anna") == []
    assert change(state="reject") == (False, False)
    mark = client.post("/api/recordings/1/mark", json={"onset": 100, "apex": 104, "offset": 109}).json()
    client.post(f"/api/movements/{mark['id']}", json={"emotion": "anger"})
    client.post(f"/api/movements/{mark['id']}", json={"note": "no proposal, so nothing to be shown"})
    assert [each.blind for each in study.decisions("anna")] == [False, True]
    client_of(study, "agreed", blind=True).post(f"/api/movements/{id}", json={"state": "accept"})
    assert not study.decisions("agreed")[0].blind  # adjudication sees everything


def test_marks_of_others_are_seen_in_adjudication_only(desk_study, client_of):
    study = desk_study()
    change = {"onset": 100, "apex": 104, "offset": 109, "emotion": "anger"}
    mark = client_of(study, "ben").post("/api/recordings/1/mark", json=change).json()
    ids = {coder: [row["id"] for row in client_of(study, coder).get("/api/movements").json()["rows"]]
           for coder in ("anna", "ben", "agreed")}  # fmt: skip
    assert mark["id"] not in ids["anna"] and mark["id"] in ids["ben"] and mark["id"] in ids["agreed"]
    assert client_of(study, "anna").get(f"/api/movements/{first(study)}").json()["others"] == []
    (other,) = client_of(study, "agreed").get(f"/api/movements/{mark['id']}").json()["others"]
    assert (other["coder"], other["emotion"]) == ("ben", "anger")


def test_adjudication_starts_from_what_coders_share(desk_study, client_of):
    study = desk_study()
    for coder, emotion in (("anna", "fear"), ("ben", "anger")):
        study.decide(coder, first(study), state="accept", kind="macro", emotion=emotion)
    client_of(study, "agreed").post(f"/api/movements/{first(study)}", json={"state": "accept"})
    (agreed,) = study.decisions("agreed")
    assert (agreed.state, agreed.kind, agreed.emotion) == ("accept", "macro", "")


def test_an_impossible_change_is_refused_with_a_fix(desk_study, client_of):
    study = desk_study()
    client, id = client_of(study), first(study)
    for change in ({"onset": 50}, {"emotion": "joy"}, {"state": "yes"}, {"colour": 1}, {"units": [{"number": "x"}]}):
        refused = client.post(f"/api/movements/{id}", json=change)
        assert refused.status_code == 422, change
        assert set(refused.json()) == {"problem", "fix"}
    assert study.history() == []


def decoded(answer):
    assert answer.status_code == 200, answer.text
    return cv2.imdecode(np.frombuffer(answer.content, np.uint8), cv2.IMREAD_COLOR)


@pytest.mark.parametrize("view", ["", "?whole=true", "?reference=77"])
def test_the_picture_of_a_frame_is_that_frame(desk_study, client_of, numbered, view):
    client = client_of(desk_study())
    for number in (77, 3, 259, 258, 41, 0, 130):
        if "reference" in view and number != 77:
            continue  # flipping squares do not move like skin
        answer = client.get(f"/api/recordings/1/frames/{number}{view}")
        assert numbered.read(decoded(answer)) == number == int(answer.headers["X-Frame"])


def test_impossible_pictures_are_refused(desk_study, client_of):
    client = client_of(desk_study())
    for path in ("1/frames/260", "1/frames/-1", "1/frames/3?times=11", "9/frames/3"):
        refused = client.get(f"/api/recordings/{path}")
        assert refused.status_code == 422 and refused.json()["fix"], path


def test_a_changed_or_missing_video_is_an_error_and_coding_continues(desk_study, client_of, numbered, tmp_path):
    study = desk_study()
    client, id = client_of(study), first(study)
    client.post(f"/api/movements/{id}", json={"state": "accept"})
    video = numbered.write(tmp_path / "recordings" / "anna.mp4", count=50)
    refused = client.get("/api/recordings/1/frames/40").json()
    assert "has changed since" in refused["problem"] and "the decisions are kept" in refused["fix"]
    video.unlink()
    assert "was moved or removed" in client.get("/api/recordings/1/frames/40").json()["problem"]
    assert client.post(f"/api/movements/{id}", json={"state": "reject"}).status_code == 200


def test_a_full_disk_is_reported_and_loses_nothing(desk_study, client_of, small_disk):
    disk = small_disk(600_000)
    study = desk_study(folder=disk / "study")
    client, id = client_of(study), first(study)
    client.post(f"/api/movements/{id}", json={"state": "accept"})
    filler = disk / "filler"
    with pytest.raises(OSError, match="No space"), filler.open("wb") as file:
        while True:
            file.write(bytes(1024))
            file.flush()
    answers = [client.post(f"/api/movements/{id}", json={"note": f"{n}" * 900}) for n in range(40)]
    refused = next(each for each in answers if each.status_code != 200)
    assert refused.status_code == 507 and "full" in refused.json()["problem"]
    filler.unlink()
    assert client.post(f"/api/movements/{id}", json={"note": "again"}).status_code == 200
    assert study.decisions("anna")[0].note == "again"


def test_an_hour_is_as_light_as_a_minute(desk_study, client_of):
    """Curves have the resolution of the screen, whatever the length; the whole list is one small response."""
    study = desk_study()
    frames = 108_000
    many = study.movements()[0]
    study.update_recording(1, frames=frames, seconds=3600.0)
    rows = np.arange(frames)
    study.set_curves(1, 0, {
        "numbers": rows.astype(np.int32), "seconds": rows / 30, "head": np.zeros(frames, np.float32),
        "motion": np.where(rows == 70_000, 0.05, 0.001)[:, None].repeat(5, 1).astype(np.float32),
        "squares": np.zeros((frames, 5), np.float32),
    })  # fmt: skip
    from dataclasses import replace

    study.add_movements(replace(many, id=0, onset=n, apex=n + 3, offset=n + 8) for n in range(0, 100_000, 20))
    client = client_of(study)
    whole = client.get("/api/recordings/1/curves?points=1200").json()
    assert len(whole["frames"]) <= 1200 and max(whole["motion"]["brows"]) == 5.0  # no peak is lost
    part = client.get("/api/recordings/1/curves?points=1200&first=69900&last=70100").json()
    assert len(part["frames"]) == 201 and part["motion"]["brows"][100] == 5.0
    answer = client.get("/api/movements?recording=1")
    assert len(answer.json()["rows"]) > 5000 and len(answer.content) < 2_000_000
    assert len(json.dumps(client.get("/api/status").json())) < 2000


def test_the_page_is_complete_and_loads_nothing_from_elsewhere():
    page = (PAGE / "index.html").read_text(encoding="utf-8")
    scripts = {path.name: path.read_text(encoding="utf-8") for path in PAGE.glob("*.js") if "uPlot" not in path.name}
    script = "".join(scripts.values())
    ids = {name for text in scripts.values() for name in re.findall(r'byId\("([\w-]+)"\)', text)}
    assert [name for name in sorted(ids) if f'id="{name}"' not in page and f'id: "{name}"' not in script] == []
    assert not re.search(r"\s(style|on\w+)=|<style|<script(?![^>]*\bsrc=)", page)
    assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|\beval\(|https?://", script + page)
    for text in scripts.values():
        for names, module in re.findall(r'import \{([^}]+)\} from "\./([\w.]+)";', text):
            for name in (each.strip() for each in names.split(",")):
                assert re.search(rf"export (async )?(function|const|class|\{{[^}}]*) ?{name}\b", scripts[module]), name
                assert len(re.findall(rf"\b{name}\b", text)) > 1, f"{name} is not used"
    assert "MIT" in (PAGE / "uPlot.LICENSE.txt").read_text(encoding="utf-8")
