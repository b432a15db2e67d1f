"""The forms and responses of the REST API, for OpenAPI."""

from typing import Any

_TEXT, _COUNT, _NUMBER = {"type": "string"}, {"type": "integer", "minimum": 0}, {"type": "number", "minimum": 1}
_FILES = {"type": "array", "items": {"type": "string", "format": "binary"}}
_NULLABLE = {"type": ["integer", "null"]}


def _form(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required}
    return {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": schema}}}}


def _json(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


PREDICT_FORM = _form(
    {
        "files": {
            **_FILES,
            "description": "one video; two pictures, onset and apex; or more, with frame numbers in their names",
        },
        "example": {**_TEXT, "description": "the name of an example, in place of files"},
        "name": {**_TEXT, "description": "what the clip is called in the answer; its file name without it"},
        "onset": {**_COUNT, "description": "number of the onset frame; spotted without it"},
        "apex": {**_COUNT, "description": "number of the apex frame; spotted without it"},
        "fps": {**_NUMBER, "description": "frames per second, if the file does not give it"},
    },
    [],
)
LIVE_FORM = _form(
    {
        "frames": {**_FILES, "description": "JPEGs of the last seconds, in order"},
        "times": {**_TEXT, "description": "the time of each frame in milliseconds: 0,33,67,..."},
    },
    ["frames", "times"],
)
PROBLEM = {
    "type": "object",
    "properties": {"problem": _TEXT, "fix": _TEXT},
    "required": ["problem", "fix"],
}
ANSWER = {
    "type": "object",
    "properties": {
        "label": {**_TEXT, "description": "a class, `uncertain` or `no micro-expression found`"},
        "text": {**_TEXT, "description": "what moved, in a sentence; left and right are the person's"},
        "units": {
            "type": "array",
            "items": {"type": "object"},
            "description": "action units: number, side, probability",
        },
        "scores": {"type": "object", "additionalProperties": {"type": "number"}},
        "onset": _NULLABLE,
        "apex": _NULLABLE,
        "offset": _NULLABLE,
        "warnings": {"type": "array", "items": _TEXT},
        "movements": {"type": "array", "items": {"type": "object"}},
        "curve": {"type": "object"},
    },
    "required": ["label", "scores", "movements", "curve", "warnings"],
}
ANSWERS: dict[int | str, dict[str, Any]] = {
    200: _json("the answer", ANSWER),
    **{
        status: _json(description, PROBLEM)
        for status, description in {
            400: "the form is malformed",
            403: "cross-site request",
            408: "the upload took too long",
            413: "too large, too long, or too many frames",
            415: "not a form, or not a video or picture",
            422: "a field or the content cannot be used, such as a clip without a face",
            500: "the decoder crashed",
            503: "busy; see Retry-After",
            504: "the time limit was reached",
        }.items()
    },
}
STATUS: dict[int | str, dict[str, Any]] = {
    200: _json(
        "the state of the job",
        {
            "type": "object",
            "properties": {
                "id": _TEXT,
                "name": {**_TEXT, "description": "what the clip is called: its file, or its `name`"},
                "state": {"enum": ["queued", "running", "done", "failed"]},
                "place": {**_COUNT, "description": "position in the queue: 1 is next, 0 is not waiting"},
                "stage": _TEXT,
                "done": _COUNT,
                "total": _COUNT,
                "result": {"oneOf": [ANSWER, {"type": "null"}]},
                "error": {"oneOf": [PROBLEM, {"type": "null"}]},
                "expires": {"type": ["string", "null"], "format": "date-time"},
            },
        },
    ),
    404: _json("expired, or never existed", PROBLEM),
}
