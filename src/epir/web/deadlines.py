"""Connections that wait for the head of a request: closed after a while, with 408 if a part of it came.

uvicorn waits for ever: a client that sends one byte and then nothing would hold its connection.
"""

import asyncio
import json
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 15.0  # where a server is made without a setting
TOO_SLOW = {"problem": "the head of the request took too long", "fix": "send it again"}


class PunctualProtocol(H11Protocol):
    """uvicorn's HTTP with a time limit for the head of every request."""

    head_s = HEAD_S

    @classmethod
    def within(cls, seconds: float) -> type["PunctualProtocol"]:
        """The protocol with this time limit."""
        return type("PunctualProtocol", (cls,), {"head_s": seconds})

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._head_timer: asyncio.TimerHandle | None = None
        self._begun = False  # a part of a head has come

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Take bytes; the timer runs from the first byte of a head to its last."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self._begun = True
            if self._head_timer is None:
                self._await_head()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing to wait for."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(self.head_s, self._too_late)

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
        self._head_timer, self._begun = None, False

    def _too_late(self) -> None:
        self._head_timer = None
        if self.transport.is_closing():
            return
        if self._begun and self.conn.our_state is h11.IDLE:
            body = json.dumps(TOO_SLOW).encode()
            headers = [
                ("content-type", "application/json"),
                ("content-length", str(len(body))),
                ("connection", "close"),
            ]
            for event in (h11.Response(status_code=408, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
