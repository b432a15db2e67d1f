"""The head of a request has its time, and then its connection is closed."""

import asyncio
import contextlib

import uvicorn

from epir.web.deadlines import PunctualProtocol


async def hello(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"hi"})


def exchange(*parts, seconds=0.3):
    """What a server with this time limit answers to bytes that are sent one part after the other, until it closes."""

    async def run():
        config = uvicorn.Config(
            hello, http=PunctualProtocol.within(seconds), lifespan="off", log_level="critical", port=0
        )
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0.02)
        reply = await reader.read()
        writer.close()
        server.should_exit = True
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return reply

    return asyncio.run(run())


def test_half_a_head_gets_408():
    reply = exchange(b"GET / HTTP/1.1\r\nHo")
    assert reply.startswith(b"HTTP/1.1 408 ")
    assert b'"problem": "the head of the request took too long"' in reply


def test_a_connection_without_a_byte_is_closed_without_a_word():
    assert exchange() == b""


def test_a_whole_head_is_served_and_the_next_one_has_its_own_time():
    whole = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    reply = exchange(whole, b"GET / HT")
    assert reply.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 408 " in reply
