"""Messages between the server and its child: JSON, with named blobs behind it.

No pickles: a child that a damaged file has taken over can send wrong words, and nothing that runs.
"""

import json
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

LARGEST = 256 << 20  # bytes of one message or blob
MOST = 1000  # blobs of one message


def send(pipe: Connection, message: Mapping[str, Any], blobs: Mapping[str, bytes] | None = None) -> None:
    """Send one message."""
    blobs = blobs or {}
    pipe.send_bytes(json.dumps({"message": message, "blobs": list(blobs)}).encode())
    for blob in blobs.values():
        pipe.send_bytes(blob)


def receive(pipe: Connection) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Wait for one message; `EOFError` or `OSError` where the other side is gone or talks nonsense."""
    try:
        whole = json.loads(pipe.recv_bytes(LARGEST))
        message, names = whole["message"], whole["blobs"]
        if not isinstance(message, dict) or not isinstance(names, list) or len(names) > MOST:
            raise ValueError("not a message")
        return message, {str(name): pipe.recv_bytes(LARGEST) for name in names}
    except (ValueError, KeyError, TypeError) as error:
        raise OSError(f"the child talks nonsense: {error}") from None
