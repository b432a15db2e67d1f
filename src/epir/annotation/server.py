"""The desk of one coder: a web page for this machine only, backed by the study.

It listens on the loopback address, and every request must carry the token in the printed address. Videos stay where
they are. Every decision is on the disk before the server responds.

Axes: n frames that show a face, P points, G groups of regions
"""

import json
import multiprocessing
import os
import secrets
import socket
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from http import HTTPStatus
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import FastAPI, Query
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, ConfigDict

from epir.annotation.adjudication import adopt, disagreements, first_fields
from epir.annotation.learn import SETTING as LEARNT
from epir.annotation.learn import ranking
from epir.annotation.picture import MOST_TIMES, Pictures, View
from epir.annotation.records import STATES, Decision, Recording, StudyAction, StudyMovement
from epir.annotation.schema import StudyError
from epir.annotation.study import ChangedMeanwhile, Study
from epir.annotation.vocabulary import AGREED
from epir.core.engines import start_worker
from epir.core.errors import EpirError, MachineError, OutputError
from epir.core.facs import UNITS
from epir.core.files import read_json
from epir.frames.seeking import SeekableVideo
from epir.spotting.regions import GROUPS
from epir.web.app import PAGE as SHARED
from epir.web.app import add_error_handlers, address_of, listen, server_of
from epir.web.security import Asgi, Guard

HOST = "127.0.0.1"
NICENESS = 10  # of the spotting process, so that the page stays responsive
PAGE = Path(__file__).parent / "page"
PAUSE = 120.0  # seconds between two decisions that count as a break
RECENT = 60  # latest decisions that determine the pace
STEADY = 0.002  # seconds of jitter at a constant frame rate
IMMUTABLE = {"Cache-Control": "private, max-age=86400, immutable"}


class UnitChange(BaseModel):
    """An action unit in a request."""

    model_config = ConfigDict(extra="forbid")

    number: int
    side: str = ""
    intensity: str = ""


class DecisionChange(BaseModel):
    """The fields of a decision that a request changes."""

    model_config = ConfigDict(extra="forbid")

    state: Literal["accept", "reject", "unsure", "draft"] | None = None
    onset: int | None = None
    apex: int | None = None
    offset: int | None = None
    kind: Literal["micro", "macro"] | None = None
    emotion: str | None = None
    units: list[UnitChange] | None = None
    note: str | None = None

    def fields(self) -> dict[str, Any]:
        """The fields that are present."""
        return self.model_dump(exclude_none=True)


@dataclass(frozen=True)
class Desk:
    """The state that all requests share."""

    study: Study
    pictures: Pictures
    coder: str
    blind: bool

    @property
    def is_agreed(self) -> bool:
        """Whether this is adjudication, which sees everybody's decisions and all proposals."""
        return self.coder == AGREED

    def movements(self, recording: int | None) -> list[StudyMovement]:
        """The movements that this coder may see: all candidates, but marks of others only in adjudication."""
        movements = self.study.movements(recording)
        if self.is_agreed:
            return movements
        return [movement for movement in movements if movement.source == "spotter" or movement.by == self.coder]

    def is_blind(self, movement: StudyMovement) -> bool:
        """Whether this coder codes a movement unaware of its proposal, which the first complete decision reveals."""
        if not self.blind or self.is_agreed:
            return False
        held = [action.decision for action in self.study.history(self.coder, movement.id) if action.decision]
        return not movement.proposal or all(decision.blind and not is_complete(decision) for decision in held)

    def detail(self, movement: StudyMovement) -> dict[str, Any]:
        """A movement with everything this coder may see."""
        decisions = self.study.decisions(recording=movement.recording, drafts=True)
        by_coder = {decision.coder: decision for decision in decisions if decision.movement == movement.id}
        mine = by_coder.get(self.coder)
        is_hidden = self.is_blind(movement)
        return {
            **{name: value for name, value in asdict(movement).items() if name not in ("measures", "proposal")},
            "decision": None if mine is None else asdict(mine),
            "proposal": None if is_hidden else dict(movement.proposal),
            "hidden": is_hidden and bool(movement.proposal),
            "others": [asdict(other) for other in by_coder.values() if self.is_agreed and other is not mine],
            "person": self.study.person(self.study.recording(movement.recording), movement.face),
        }


def is_complete(decision: Decision) -> bool:
    """Whether the proposal may be shown: a movement is accepted with its emotion, rejected or unsure."""
    return decision.state in STATES and (decision.state != "accept" or bool(decision.emotion))


def serve_desk(
    study: Study,
    coder: str,
    *,
    blind: bool = False,
    port: int = 0,
    workers: int | None = None,
    ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve until interrupted; `ready` gets the address with its token once the server listens."""
    study.words.check_coder(coder)
    if coder == AGREED:
        adopt(study)  # unanimous decisions need no adjudication
    listening, token = _listen(study.folder / f".desk-{coder}.json", port)
    is_open = any(recording.state != "done" for recording in study.recordings())
    spotting = start_spotting(study.folder, workers) if is_open else None
    try:
        address = address_of(listening)
        app = create_desk_app(Desk(study, Pictures(study), coder, blind), token, listening.getsockname()[1])
        server = server_of(app)
        ready(f"{address}?token={token}")
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        return  # the usual way to stop it
    finally:
        listening.close()
        if spotting is not None and spotting.is_alive():
            spotting.kill()  # the next start spots this recording from the beginning
            spotting.join()


def start_spotting(folder: Path, workers: int | None = None) -> BaseProcess:
    """Spot the remaining recordings in another process, which ends with this one and loads the heavy modules."""
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_spot, args=(str(folder), workers, os.getpid()), name="epir spotting")
    process.start()
    return process


def _spot(folder: str, workers: int | None, parent: int) -> None:
    start_worker(parent)
    os.nice(NICENESS)
    from epir.annotation.propose import spot_study

    try:
        spot_study(Path(folder), workers)
    except OutputError:  # another coder's server is already spotting this study
        return


def _listen(memory: Path, port: int) -> tuple[socket.socket, str]:
    """A socket and a token: the same as last time if the port is free, so that an open page keeps working."""
    before = read_json(memory, error=StudyError, fix=f"remove {memory}") if memory.exists() else {}
    token = str(before.get("token") or secrets.token_urlsafe(18))
    try:
        listening = listen(HOST, port or int(before.get("port", 0)))
    except EpirError:
        if port:
            raise
        listening = listen(HOST, 0)
    if os.access(memory.parent, os.W_OK):
        handle = os.open(memory, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)  # readable only by its owner
        with os.fdopen(handle, "w") as file:
            json.dump({"port": listening.getsockname()[1], "token": token}, file)
    return listening, token


def create_desk_app(desk: Desk, token: str, port: int = 0) -> Asgi:
    """The application of one desk."""
    app = FastAPI(title="EPIR annotate", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    add_error_handlers(app)

    @app.exception_handler(ChangedMeanwhile)
    async def conflict(_: Any, error: ChangedMeanwhile) -> JSONResponse:
        return JSONResponse({"problem": error.problem, "fix": error.fix}, status_code=HTTPStatus.CONFLICT)

    @app.exception_handler(MachineError)
    async def fault(_: Any, error: MachineError) -> JSONResponse:
        return JSONResponse({"problem": error.problem, "fix": error.fix}, status_code=HTTPStatus.INSUFFICIENT_STORAGE)

    @app.get("/")
    async def page() -> FileResponse:
        return FileResponse(PAGE / "index.html", media_type="text/html")

    add_study(app, desk)
    add_decisions(app, desk)
    add_pictures(app, desk)
    app.mount("/static/desk", StaticFiles(directory=PAGE), name="desk")
    app.mount("/static", StaticFiles(directory=SHARED), name="shared")
    return Guard(app, (HOST,), token=token, cookie=f"epir_desk_{port}")


def add_study(app: FastAPI, desk: Desk) -> None:
    """The routes that list recordings, movements and disagreements."""
    study = desk.study

    @app.get("/api/study")
    def about() -> dict[str, Any]:
        return {
            "name": study.folder.name,
            "coder": desk.coder,
            "blind": desk.blind,
            "adjudicates": desk.is_agreed,
            "emotions": study.words.emotions,
            "units": UNITS,
            "regions": GROUPS,
            "magnify": MOST_TIMES,
            "learnt": bool(study.setting(LEARNT)),
            "recordings": [recording_dict(study, recording) for recording in study.recordings()],
        }

    @app.get("/api/status")
    def status() -> dict[str, Any]:
        """The state that changes while a coder works; the page polls it."""
        return {
            "recordings": [recording_dict(study, recording) for recording in study.recordings()],
            "pace": pace_of(study.history(desk.coder)),
            "latest": study.latest(),
        }

    @app.get("/api/movements")
    def movements(recording: int | None = None) -> dict[str, Any]:
        latest = study.latest()
        decisions = {decision.movement: decision for decision in study.decisions(desk.coder, recording, drafts=True)}
        ranks = ranking(study)
        rows = [
            movement_row(movement, decisions.get(movement.id), ranks.get(movement.id))
            for movement in desk.movements(recording)
        ]
        return {"latest": latest, "rows": rows}

    @app.get("/api/movements/{id}")
    def movement(id: int) -> dict[str, Any]:
        return desk.detail(study.movement(id))

    @app.get("/api/movements/{id}/history")
    def history(id: int) -> list[dict[str, Any]]:
        return [asdict(action) for action in study.history(None if desk.is_agreed else desk.coder, id)]

    @app.get("/api/disagreements")
    def differing() -> list[dict[str, Any]]:
        return [asdict(case) for case in disagreements(study)] if desk.is_agreed else []


def add_decisions(app: FastAPI, desk: Desk) -> None:
    """The routes for decisions; each is on the disk before the response."""
    study = desk.study

    @app.post("/api/movements/{id}")
    def decide(id: int, change: DecisionChange, after: int | None = None) -> dict[str, Any]:
        fields = (first_fields(study, id) if desk.is_agreed else {}) | change.fields()
        movement = study.movement(id)
        study.decide(desk.coder, id, after=after, blind=desk.is_blind(movement), **fields)
        return desk.detail(movement)

    @app.post("/api/recordings/{id}/mark")
    def mark(id: int, change: DecisionChange, face: Annotated[int, Query(ge=0)] = 0) -> dict[str, Any]:
        fields = change.fields()
        frames = [fields.pop(name, 0) for name in ("onset", "apex", "offset")]
        blind = desk.blind and not desk.is_agreed
        marked = study.mark(desk.coder, id, *frames, face=face, blind=blind, **fields)
        return desk.detail(marked)

    @app.post("/api/{step}")
    def step(step: Literal["undo", "redo"]) -> dict[str, Any]:
        action = study.undo(desk.coder) if step == "undo" else study.redo(desk.coder)
        return {"movement": None if action is None else desk.detail(study.movement(action.movement))}


def add_pictures(app: FastAPI, desk: Desk) -> None:
    """The routes for pictures, times and curves."""
    study, pictures = desk.study, desk.pictures

    @app.get("/api/recordings/{id}/frames/{number}")
    def frame(
        id: int,
        number: int,
        face: Annotated[int, Query(ge=0)] = 0,
        whole: bool = False,
        reference: int | None = None,
        times: float = 1.0,
        flow: bool = False,
    ) -> Response:
        shown = pictures.show(study.recording(id), number, View(face, whole, reference, times, flow))
        headers = {**IMMUTABLE, "X-Times": f"{shown.times:.1f}", "X-Frame": str(number)}
        return Response(shown.jpeg, media_type="image/jpeg", headers=headers)

    @app.get("/api/recordings/{id}/times")
    def times(id: int) -> dict[str, Any]:
        recording = study.recording(id)
        return frame_seconds(pictures.video(recording), recording)

    @app.get("/api/recordings/{id}/curves")
    def curves(
        id: int,
        face: Annotated[int, Query(ge=0)] = 0,
        first: int = 0,
        last: int | None = None,
        points: Annotated[int, Query(ge=10, le=4000)] = 1200,
    ) -> dict[str, Any]:
        stored = study.curves(id, face)
        return binned_curves(stored, first, study.recording(id).frames - 1 if last is None else last, points)


def recording_dict(study: Study, recording: Recording) -> dict[str, Any]:
    """A recording for the page."""
    return {
        **{name: value for name, value in asdict(recording).items() if name not in ("digest", "bytes", "modified")},
        "faces": study.faces(recording.id) or [0],
    }


def movement_row(movement: StudyMovement, decision: Decision | None, rank: float | None) -> dict[str, Any]:
    """A row of the list, with the coder's key frames if there are any. A mark has no rank."""
    place = decision or movement
    return {
        "id": movement.id,
        "recording": movement.recording,
        "face": movement.face,
        "frames": [place.onset, place.apex, place.offset],
        "probability": rank,
        "rule": movement.rule,
        "region": movement.region,
        "side": movement.side,
        "strength": movement.strength,
        "source": movement.source,
        "state": "" if decision is None else decision.state,
        "emotion": "" if decision is None else decision.emotion,
    }


def binned_curves(curves: dict[str, np.ndarray], first: int, last: int, points: int) -> dict[str, Any]:
    """The curves between two frames in at most `points` bins, each with the largest value of its frames.

    A bin without a face is None. Motion is in % of the face width.
    """
    if not curves or last < first:
        return {"frames": [], "motion": {name: [] for name in GROUPS}, "head": []}
    inside = (curves["numbers"] >= first) & (curves["numbers"] <= last)
    values = np.concatenate([curves["motion"], curves["head"][:, None]], axis=1)[inside]  # (n, G + 1)
    width = max(1, -(-(last - first + 1) // points))  # frames per bin
    count = (last - first) // width + 1
    highest = np.full((count, values.shape[1]), -np.inf)
    np.maximum.at(highest, (curves["numbers"][inside] - first) // width, values)  # (P, G + 1)
    columns = [
        [round(100 * float(value), 3) if np.isfinite(value) else None for value in column] for column in highest.T
    ]
    frames = [first + place * width + (width - 1) // 2 for place in range(count)]
    return {"frames": frames, "motion": dict(zip(GROUPS, columns[:-1], strict=True)), "head": columns[-1]}


def frame_seconds(video: SeekableVideo, recording: Recording) -> dict[str, Any]:
    """The frame rate of a recording, and the time of every frame if the rate is not constant."""
    seconds = video.seconds()
    if seconds is None or len(seconds) < 2:
        return {"fps": recording.fps, "seconds": None}
    rate = (len(seconds) - 1) / max(float(seconds[-1] - seconds[0]), 1e-9)
    if float(np.abs(seconds - seconds[0] - np.arange(len(seconds)) / rate).max()) < STEADY + 0.3 / rate:
        return {"fps": rate, "seconds": None}
    return {"fps": rate, "seconds": [round(float(time), 4) for time in seconds]}


def pace_of(history: Sequence[StudyAction]) -> float | None:
    """The mean seconds between two reviewed movements, without breaks; None for fewer than three."""
    seen: set[int] = set()
    times = []
    for action in history:
        if action.decision is not None and action.decision.state in STATES and action.movement not in seen:
            seen.add(action.movement)
            times.append(datetime.fromisoformat(action.at).timestamp())
    steps = [step for step in np.diff(times[-RECENT:]).tolist() if 0 < step < PAUSE]
    return round(float(np.mean(steps)), 2) if len(steps) >= 3 else None
