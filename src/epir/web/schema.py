"""What OpenAPI says about the forms and the answers."""

from typing import Any

_TEXT, _WHOLE, _NUMBER = {"type": "string"}, {"type": "integer", "minimum": 0}, {"type": "number", "minimum": 1}
_FILES = {"type": "array", "items": {"type": "string", "format": "binary"}}
_NULLABLE = {"type": ["integer", "null"]}


def _form(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required}
    return {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": schema}}}}


def _json(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


PREDICT_FORM = _form(
    {
        "files": {**_FILES, "description": "one video, or two pictures: onset, then apex", "maxItems": 2},
        "example": {**_TEXT, "description": "the name of an example, in place of files"},
        "onset": {**_WHOLE, "description": "number of the onset frame; spotted without it"},
        "apex": {**_WHOLE, "description": "number of the apex frame; spotted without it"},
        "fps": {**_NUMBER, "description": "frames a second, where the file does not say"},
    },
    [],
)
LIVE_FORM = _form(
    {
        "frames": {**_FILES, "description": "JPEGs of the last seconds, in order"},
        "times": {**_TEXT, "description": "when each was taken, in milliseconds: 0,33,67,..."},
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
        status: _json(words, PROBLEM)
        for status, words in {
            400: "the form is damaged",
            403: "another site's page sent it",
            408: "the upload took too long",
            413: "too large, too long, or too many frames",
            415: "not a form, or not a video or picture",
            422: "a field or the content cannot be used: no face, for example",
            500: "the decoder stopped",
            503: "busy; Retry-After says when to come back",
            504: "it took too long and was stopped",
        }.items()
    },
}
STATUS: dict[int | str, dict[str, Any]] = {
    200: _json(
        "where the job stands",
        {
            "type": "object",
            "properties": {
                "id": _TEXT,
                "state": {"enum": ["queued", "running", "done", "failed"]},
                "place": {**_WHOLE, "description": "in the queue: 1 is next, 0 does not wait"},
                "stage": _TEXT,
                "done": _WHOLE,
                "total": _WHOLE,
                "result": {"oneOf": [ANSWER, {"type": "null"}]},
                "error": {"oneOf": [PROBLEM, {"type": "null"}]},
                "expires": {"type": ["string", "null"], "format": "date-time"},
            },
        },
    ),
    404: _json("never here, or forgotten", PROBLEM),
}
