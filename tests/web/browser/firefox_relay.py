"""Firefox for Playwright: starts it, and relays the WebDriver BiDi messages between the two.

Playwright sets the colour scheme of every page with a command that Firefox ESR does not know yet, and gives up when it
is refused. The relay answers that command itself; a dark Firefox is started with the preference for it instead.
Firefox names no navigation for the download of a link that was made by a script, and Playwright passes over downloads
without a name, so that whoever waits for one waits for ever: the relay gives them the name of their address.

Run as `python firefox_relay.py FIREFOX ARGUMENTS...`, in place of the browser.
"""

import asyncio
import json
import re
import sys

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application
from tornado.websocket import WebSocketHandler, websocket_connect

UNKNOWN = "emulation.setMediaFeaturesOverride"
LISTENING = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
DOWNLOAD = '"method":"browsingContext.download'
LARGEST = 1 << 30  # bytes of one message: screenshots


class Relay(WebSocketHandler):
    """One connection of Playwright, and one to Firefox."""

    firefox = ""  # address

    async def open(self, path):
        self.other = await websocket_connect(
            f"{self.firefox}/{path}", on_message_callback=self.from_firefox, max_message_size=LARGEST
        )

    def on_message(self, message):
        command = json.loads(message)
        if command["method"] == UNKNOWN:
            self.write_message(json.dumps({"type": "success", "id": command["id"], "result": {}}))
        else:
            self.other.write_message(message)

    def from_firefox(self, message):
        if message is None:
            self.close()
            return
        if DOWNLOAD in message[:200]:
            event = json.loads(message)
            event["params"]["download"] = event["params"]["url"]
            message = json.dumps(event)
        self.write_message(message)

    def on_close(self):
        self.other.close()


async def run(command):
    """Start the browser, say where the relay listens, and wait for the browser's end."""
    firefox = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    while line := (await firefox.stderr.readline()).decode(errors="replace"):
        if found := LISTENING.search(line):
            Relay.firefox = found[1]
            sockets = bind_sockets(0, "127.0.0.1")
            server = HTTPServer(Application([("/(.*)", Relay)], websocket_max_message_size=LARGEST))
            server.add_sockets(sockets)
            line = f"WebDriver BiDi listening on ws://127.0.0.1:{sockets[0].getsockname()[1]}\n"
        sys.stderr.write(line)
        sys.stderr.flush()
    return await firefox.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(run(sys.argv[1:])))
