"""The forms and responses of the REST API, for OpenAPI; tests validate real responses against them."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Side = Literal["both", "left", "right"]


class Strict(BaseModel):
    """A JSON object with exactly these fields."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class Open(BaseModel):
    """A JSON object with at least these fields; docs/video.md describes all of `epir predict --json`."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())


class ProblemJson(Strict):
    """An error: the problem, and how to fix it."""

    problem: str
    fix: str


class TicketJson(Strict):
    """A queued job."""

    id: str
    url: str = Field(description="address of its state and result")


class ActionUnitJson(Strict):
    """A FACS action unit."""

    number: int = Field(description="FACS number, e.g. 12")
    side: Side = Field(description="of the person, not of the picture")
    probability: float = Field(ge=0, le=1, description="calibrated")
    visible: bool | None = Field(description="whether motion stands out in the region of the unit")


class MovementJson(Open):
    """A movement and its class; key frames are frame numbers."""

    input: str = Field(description="name of the file")
    label: str = Field(description="a class, `uncertain` or `no micro-expression found`")
    text: str = Field(description="what moved, in a sentence; left and right are the person's")
    confidence: float | None = Field(description="highest score")
    scores: dict[str, float] = Field(description="calibrated, by class; they sum to 1; empty without a movement")
    onset: int | None
    apex: int | None
    offset: int | None
    onset_s: float | None = Field(description="seconds from the start")
    apex_s: float | None
    offset_s: float | None
    fps: float | None = Field(description="frames per second")
    frames: int | None = Field(description="number of frames read")
    track: int | None = Field(description="number of the person, if faces were tracked")
    probability: float | None = Field(description="of being a micro-expression, if it was spotted")
    strength: float | None = Field(description="displacement at the apex, in % of the face width")
    region: str = Field(description="where a spotted movement is strongest")
    side: str = Field(description="of the person, not of the picture")
    head: float | None = Field(description="head motion during the movement, in % of the face width")
    moved: list[dict[str, Any]] = Field(description="regions of the face and their direction, strongest first")
    units: list[ActionUnitJson] = Field(description="most probable first")
    warnings: list[str]
    gaps: list[dict[str, Any]] = Field(description="frames without a usable face, and why")
    tokens: dict[str, Any] | None = Field(description="which tokens of the map were merged and kept")
    attribution: dict[str, Any] | None = Field(description="drop of the score when a part of the map is occluded")


class FilmJson(Strict):
    """Frames of the face in one JPEG, row by row: `columns` in a row, each `size` px wide and high."""

    sheet: str = Field(description="address")
    size: int
    columns: int
    frames: list[int] = Field(description="frame numbers")
    seconds: list[float]
    flow: str = Field("", description="address of the arrows from the onset to each frame, (frames, 14, 14, 2), in %")


class DrawnMovementJson(MovementJson):
    """A movement with the addresses of its pictures."""

    pictures: dict[str, str] = Field(description="onset, apex, flow, why, tokens, rollout; empty if none were drawn")
    scales: dict[str, float] = Field(description="the value of full colour in flow, why and rollout, in %")
    replay: FilmJson | None = Field(description="from before the onset to after the offset")


class RejectedJson(Open):
    """A movement that is not a micro-expression."""

    reason: str
    region: str
    side: str
    strength: float
    onset: int
    apex: int
    offset: int
    onset_s: float
    apex_s: float
    offset_s: float
    track: int
    probability: float | None = Field(description="of being a micro-expression, even if a rule rejected it")
    replay: FilmJson | None


class CurveEventJson(Strict):
    """A movement on the timeline; times in seconds."""

    onset: float
    apex: float
    offset: float
    frames: list[int] = Field(description="onset, apex and offset as frame numbers")
    label: str = Field(description="the class, or why it was rejected")


class HiddenJson(Strict):
    """A part of the video in which movements cannot be detected; in seconds."""

    start: float
    stop: float
    reasons: list[str]


class CurveJson(Strict):
    """The timeline of one person: the motion of the face over time."""

    track: int = Field(description="number of the person")
    time: list[float] = Field(description="seconds")
    frames: list[int] = Field(description="frame numbers")
    energy: list[float] = Field(description="motion, in % of the face width")
    level: float | None = Field(description="detection threshold, in the same unit")
    events: list[CurveEventJson] = Field(description="classified")
    others: list[CurveEventJson] = Field(description="rejected")
    hidden: list[HiddenJson]
    film: FilmJson | None = Field(description="the face in the whole clip; a long clip is thinned to fewer frames")


class AnswerJson(MovementJson):
    """The JSON of `epir predict --json`, with pictures, timelines and the reliability of the scores."""

    movements: list[DrawnMovementJson] = Field(description="in order of time")
    visible: dict[str, Any] | None = Field(description="how much could be judged, and how small a motion would show")
    people: list[dict[str, Any]] = Field(description="how long each person was tracked, and how well they were visible")
    candidates: list[dict[str, Any]] = Field([], description="the most probable rejected movements, classified")
    rejected: list[RejectedJson]
    pictures: dict[str, str] = Field(description="addresses of why and timeline")
    table: str = Field(description="address of events.csv")
    seconds: float | None = Field(description="length of the video")
    curves: list[CurveJson] = Field(description="one for each person")
    model: str
    calibrated_on: str = Field(description="what the scores were calibrated on: people, or synthetic faces")
    reliability: list[dict[str, Any]] = Field(description="accuracy at similar scores, measured on real people")
    elapsed_s: float


class PredictAnswerJson(AnswerJson, TicketJson):
    """An answer with its address."""


class StatusJson(Strict):
    """The state of a job."""

    id: str
    name: str = Field(description="name of the clip")
    state: Literal["queued", "running", "done", "failed"]
    place: int = Field(ge=0, description="position in the queue: 1 is next, 0 is not queued")
    stage: str
    done: int
    total: int
    result: AnswerJson | None
    error: ProblemJson | None
    expires: str | None = Field(json_schema_extra={"format": "date-time"})


class LiveTicketJson(Strict):
    """A new camera session."""

    id: str
    frames: str = Field(description="address to send frames to")
    events: str = Field(description="address to read events from")
    seconds: float = Field(description="time limit of the session")


class LiveCountsJson(Strict):
    """Counts of a session's frames so far."""

    received: int
    dropped: int = Field(description="not analysed because the server was too slow")
    waiting_s: float = Field(description="seconds of frames in the queue")


class HealthJson(Strict):
    """Version, model, queue and limits."""

    status: Literal["ok"]
    version: str
    model: dict[str, Any] = Field(description="name, classes, map_size")
    queue: dict[str, int] = Field(description="running, waiting, receiving (uploads still arriving), capacity")
    cameras: dict[str, int] = Field(description="running, capacity")
    limits: dict[str, float]


class ExampleClipJson(Strict):
    """A synthetic example clip."""

    name: str
    title: str
    truth: str
    fps: float
    frames: int


_FILE = {"type": "string", "format": "binary"}
_TEXT = {"type": "string"}


def _form(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": schema}}}}


PREDICT_FORM = _form(
    {
        "files": {
            "type": "array",
            "items": _FILE,
            "description": "one video; two pictures, onset and apex; or more pictures, numbered in their names",
        },
        "example": {**_TEXT, "description": "name of an example, instead of files"},
        "name": {**_TEXT, "description": "name of the clip in the answer; default: the file name"},
        "onset": {"type": "integer", "minimum": 0, "description": "number of the onset frame; default: spotted"},
        "apex": {"type": "integer", "minimum": 0, "description": "number of the apex frame; default: spotted"},
        "fps": {"type": "number", "minimum": 1, "description": "frames per second, if the file does not give them"},
        "threshold": {
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "description": "answers below this score are `uncertain`; default: the threshold of the model",
        },
        "sensitivity": {
            "enum": ["low", "normal", "high"],
            "default": "normal",
            "description": "high finds more movements, and more false alarms",
        },
        "faces": {"enum": ["largest", "all"], "default": "largest", "description": "whose movements to find"},
    },
    [],
)

FRAMES_FORM = _form(
    {
        "frames": {
            "type": "array",
            "items": _FILE,
            "minItems": 1,
            "description": "JPEGs of one size, in order, each frame once",
        },
        "times": {
            **_TEXT,
            "pattern": r"^\d+(\.\d+)?(,\d+(\.\d+)?)*$",
            "description": "time of each frame, in milliseconds from the start: 0,33,67",
        },
    },
    ["frames", "times"],
)

MEANINGS = {
    400: "the form is malformed, or the host name is unknown",
    401: "the token is missing or wrong",
    403: "a cross-site request",
    404: "it has expired, or never existed",
    408: "the request took too long to arrive",
    410: "the job was cancelled",
    413: "too large, too long, or too much work",
    415: "not a form, or not a video or picture",
    422: "a field or file cannot be used, such as a clip without a face",
    429: "too many uploads from one address; see Retry-After",
    500: "the worker process died, or an internal error",
    503: "busy; see Retry-After",
    504: "the time limit was reached",
}
Responses = dict[int | str, dict[str, Any]]


def problems(*statuses: int) -> Responses:
    """The error responses of a call; 400 and 401, for the host name and the token, are part of every call."""
    responses: Responses = {}
    for status in sorted({400, 401, *statuses}):
        headers = {"Retry-After": {"schema": {"type": "integer"}, "description": "seconds"}}
        more = {"headers": headers} if status in (429, 503) else {}
        responses[status] = {"model": ProblemJson, "description": MEANINGS[status], **more}
    return responses


FRAMES_PROBLEMS = problems(403, 404, 408, 413, 415, 422)
UPLOAD_PROBLEMS = problems(403, 408, 410, 413, 415, 422, 429, 500, 503, 504)
