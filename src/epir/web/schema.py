"""The forms and responses of the REST API, for OpenAPI; tests hold the real responses against them."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Side = Literal["both", "left", "right"]


class Strict(BaseModel):
    """A JSON object that has these fields, and no others."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class Open(BaseModel):
    """A JSON object that has at least these fields; docs/video.md describes all of `epir predict --json`."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())


class ProblemJson(Strict):
    """Every error: what is wrong, and what to do."""

    problem: str
    fix: str


class TicketJson(Strict):
    """A job that was queued."""

    id: str
    url: str = Field(description="where its state and its result are")


class ActionUnitJson(Strict):
    """One action unit of FACS."""

    number: int = Field(description="FACS number, e.g. 12")
    side: Side = Field(description="of the person, not of the picture")
    probability: float = Field(ge=0, le=1, description="calibrated")
    visible: bool | None = Field(description="whether motion stands out where the unit shows")


class MovementJson(Open):
    """One movement and its class; key frames are frame numbers."""

    input: str = Field(description="the name of the file")
    label: str = Field(description="a class, `uncertain` or `no micro-expression found`")
    text: str = Field(description="what moved, in a sentence; left and right are the person's")
    confidence: float | None = Field(description="the highest score")
    scores: dict[str, float] = Field(description="by class, calibrated; they sum to 1; empty without a movement")
    onset: int | None
    apex: int | None
    offset: int | None
    onset_s: float | None = Field(description="seconds since the beginning")
    apex_s: float | None
    offset_s: float | None
    fps: float | None = Field(description="frames per second")
    frames: int | None = Field(description="frames that were read")
    track: int | None = Field(description="the person, if faces were followed")
    probability: float | None = Field(description="of being a micro-expression at all, if it was spotted")
    strength: float | None = Field(description="displacement at the apex, in % of the width of the face")
    region: str = Field(description="where a spotted movement stands out most")
    side: str = Field(description="of the person, not of the picture")
    head: float | None = Field(description="how far the head comes and goes with it, in % of the width of the face")
    moved: list[dict[str, Any]] = Field(description="regions of the face and their direction, the strongest first")
    units: list[ActionUnitJson] = Field(description="the most probable first")
    warnings: list[str]
    gaps: list[dict[str, Any]] = Field(description="frames without a face that could be used, and why")
    tokens: dict[str, Any] | None = Field(description="what became of the tokens of the map")
    attribution: dict[str, Any] | None = Field(description="how far the score falls without each part of the map")


class FilmJson(Strict):
    """Frames of the face, in one JPEG: row by row, `columns` in a row, each `size` px wide and high."""

    sheet: str = Field(description="address")
    size: int
    columns: int
    frames: list[int] = Field(description="frame numbers")
    seconds: list[float]
    flow: str = Field("", description="address: arrows from the onset to each frame, (frames, 14, 14, 2) in per cent")


class DrawnMovementJson(MovementJson):
    """A movement with the addresses of its pictures."""

    pictures: dict[str, str] = Field(description="onset, apex, flow, why, tokens, rollout; empty if none were drawn")
    scales: dict[str, float] = Field(description="what full colour stands for in flow, why and rollout, in per cent")
    replay: FilmJson | None = Field(description="from before the onset to after the offset")


class RejectedJson(Open):
    """A movement that is no micro-expression."""

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
    probability: float | None = Field(description="of being a micro-expression, also if a rule rejected it")
    replay: FilmJson | None


class CurveEventJson(Strict):
    """A movement on the timeline; times in seconds."""

    onset: float
    apex: float
    offset: float
    frames: list[int] = Field(description="onset, apex and offset as frame numbers")
    label: str = Field(description="the class, or why it was rejected")


class HiddenJson(Strict):
    """A part of the video in which nothing could be judged; in seconds."""

    start: float
    stop: float
    reasons: list[str]


class CurveJson(Strict):
    """The timeline of one person: the motion of the face over time."""

    track: int = Field(description="the person")
    time: list[float] = Field(description="seconds")
    frames: list[int] = Field(description="frame numbers")
    energy: list[float] = Field(description="motion in per cent of the width of the face")
    level: float | None = Field(description="the motion from which movements are looked at, in the same unit")
    events: list[CurveEventJson] = Field(description="classified")
    others: list[CurveEventJson] = Field(description="rejected")
    hidden: list[HiddenJson]
    film: FilmJson | None = Field(description="the face in the whole clip; of a long one every second frame, or fewer")


class AnswerJson(MovementJson):
    """The JSON of `epir predict --json`, with pictures, the timeline and what the scores are worth."""

    movements: list[DrawnMovementJson] = Field(description="all of them, in the order of time")
    visible: dict[str, Any] | None = Field(description="how much could be judged, and which size would be seen")
    people: list[dict[str, Any]] = Field(description="who was followed for how many seconds, and what could be seen")
    candidates: list[dict[str, Any]] = Field([], description="the most probable of what was rejected, as movements")
    rejected: list[RejectedJson]
    pictures: dict[str, str] = Field(description="why, timeline: addresses")
    table: str = Field(description="address of events.csv")
    seconds: float | None = Field(description="the length of the video")
    curves: list[CurveJson] = Field(description="one for each person")
    model: str
    calibrated_on: str = Field(description="whose scores the model was calibrated on: people, or synthetic faces")
    reliability: list[dict[str, Any]] = Field(description="how often such scores were right, on real people")
    elapsed_s: float


class PredictAnswerJson(AnswerJson, TicketJson):
    """An answer with the address where it is kept."""


class StatusJson(Strict):
    """The state of a job."""

    id: str
    name: str = Field(description="what the clip is called")
    state: Literal["queued", "running", "done", "failed"]
    place: int = Field(ge=0, description="position in the queue: 1 is next, 0 is not waiting")
    stage: str
    done: int
    total: int
    result: AnswerJson | None
    error: ProblemJson | None
    expires: str | None = Field(json_schema_extra={"format": "date-time"})


class LiveTicketJson(Strict):
    """A camera session that has begun."""

    id: str
    frames: str = Field(description="where frames are sent")
    events: str = Field(description="where events are read")
    seconds: float = Field(description="how long it may last")


class LiveCountsJson(Strict):
    """What became of the frames of a session so far."""

    received: int
    dropped: int = Field(description="never looked at, because the server is too slow")
    waiting_s: float = Field(description="seconds of frames that wait")


class HealthJson(Strict):
    """Version, model, queue and limits."""

    status: Literal["ok"]
    version: str
    model: dict[str, Any] = Field(description="name, classes, map_size")
    queue: dict[str, int] = Field(description="running, waiting, receiving (uploads that still arrive), capacity")
    cameras: dict[str, int] = Field(description="running, capacity")
    limits: dict[str, float]


class ExampleClipJson(Strict):
    """A synthetic clip that the page offers."""

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
            "description": "one video; two pictures, onset and apex; or more, with frame numbers in their names",
        },
        "example": {**_TEXT, "description": "the name of an example, in place of files"},
        "name": {**_TEXT, "description": "what the clip is called in the answer; its file name without it"},
        "onset": {"type": "integer", "minimum": 0, "description": "number of the onset frame; spotted without it"},
        "apex": {"type": "integer", "minimum": 0, "description": "number of the apex frame; spotted without it"},
        "fps": {"type": "number", "minimum": 1, "description": "frames per second, if the file does not give it"},
        "threshold": {
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "description": "answers below this score are `uncertain`; default: the threshold of the model",
        },
        "sensitivity": {"enum": ["low", "normal", "high"], "default": "normal", "description": "high finds more"},
        "faces": {"enum": ["largest", "all"], "default": "largest", "description": "all: movements of each person"},
    },
    [],
)

FRAMES_FORM = _form(
    {
        "frames": {
            "type": "array",
            "items": _FILE,
            "minItems": 1,
            "description": "JPEGs of one size, in order, each frame of the camera once",
        },
        "times": {
            **_TEXT,
            "pattern": r"^\d+(\.\d+)?(,\d+(\.\d+)?)*$",
            "description": "when each was taken, in milliseconds since the beginning: 0,33,67",
        },
    },
    ["frames", "times"],
)

MEANINGS = {
    400: "the form is malformed, or the host name unknown",
    401: "the token is missing or wrong",
    403: "a cross-site request",
    404: "it has expired, or never existed",
    405: "not with this method",
    408: "the request took too long to arrive",
    410: "the job was cancelled",
    413: "too large, too long, or too much work",
    415: "not a form, or not a video or picture",
    422: "a field or the content cannot be used, such as a clip without a face",
    429: "too many uploads of one address; see Retry-After",
    500: "the worker process died, or an internal error",
    503: "busy; see Retry-After",
    504: "the time limit was reached",
}
Responses = dict[int | str, dict[str, Any]]


def problems(*statuses: int) -> Responses:
    """The error responses of a call; every call may also be refused for its host name, token or origin."""
    every = sorted({400, 401, *statuses})
    responses: Responses = {}
    for status in every:
        headers = {"Retry-After": {"schema": {"type": "integer"}, "description": "seconds"}}
        more = {"headers": headers} if status in (429, 503) else {}
        responses[status] = {"model": ProblemJson, "description": MEANINGS[status], **more}
    return responses


FRAMES_PROBLEMS = problems(403, 404, 408, 413, 415, 422)
UPLOAD_PROBLEMS = problems(403, 408, 410, 413, 415, 422, 429, 500, 503, 504)
