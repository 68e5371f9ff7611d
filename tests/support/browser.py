"""Drive Chromium without a window over its DevTools protocol (tornado has the web socket).

Tests that need Chromium are skipped, with the reason, if there is none.
"""

import asyncio
import base64
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import urllib.request
from pathlib import Path

import pytest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from sluice.host.limits import HANG_S
from sluice.system.qemu import die_with_parent

NAMES = ("chromium", "chromium-browser", "google-chrome")
LISTENS = "DevTools listening on "


def find_browser(names: tuple[str, ...]) -> str:
    """Return the path of the first of these programs that is installed. Skip the test if none is.

    A test that skips in the middle of a constructor leaves open what the constructor had opened,
    so this comes before all else.
    """
    found = next(filter(None, map(shutil.which, names)), None)
    if not found:
        pytest.skip(f"there is no browser: none of {', '.join(names)} is installed")
    return found


class Driven:
    """A browser that answers numbered commands over a web socket.

    errors: those that it reported.
    """

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.numbers = itertools.count(1)
        self.errors: list[str] = []

    def note(self, message: dict) -> None:
        """Keep the error in a message, if the message reports one."""
        raise NotImplementedError

    def connect(self, address: str) -> None:
        """Open the web socket."""
        self.socket = self.loop.run_until_complete(self._connect(address))

    def disconnect(self) -> None:
        """Drop the connection when the browser has ended."""
        self.loop.run_until_complete(asyncio.sleep(0))  # the socket's tasks see its end
        self.loop.close()

    async def _connect(self, address: str) -> WebSocketClientConnection:
        return await websocket_connect(address, max_message_size=1 << 28)

    async def _say(self, text: str) -> None:
        await self.socket.write_message(text)

    async def _answer(self, number: int) -> dict:
        while True:
            message = json.loads(await self.socket.read_message())
            self.note(message)
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]

    def do(self, method: str, **parameters: object) -> dict:
        """Run a command of the protocol and return its result."""
        number = next(self.numbers)
        text = json.dumps({"id": number, "method": method, "params": parameters})
        self.loop.run_until_complete(self._say(text))
        return self.loop.run_until_complete(asyncio.wait_for(self._answer(number), HANG_S))


class Page(Driven):
    """One page. A context manager that ends the browser."""

    def __init__(self, folder: Path) -> None:
        program = find_browser(NAMES)
        super().__init__()
        words = ["--headless=new", "--disable-gpu", "--remote-debugging-port=0", "--no-first-run"]
        words += ["--force-color-profile=srgb", "--hide-scrollbars", f"--user-data-dir={folder}"]
        if os.geteuid() == 0:
            words.append("--no-sandbox")  # Chromium has no sandbox for root
        # It leaves its temporary folders behind when it is killed.
        self.temporary = tempfile.TemporaryDirectory(prefix="sluice-", ignore_cleanup_errors=True)
        self.process = subprocess.Popen(
            [program, *words, "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"TMPDIR": self.temporary.name},
            preexec_fn=die_with_parent,
        )

    def __enter__(self) -> "Page":
        """Connect to the page. Chromium prints its address when it is ready."""
        for line in self.process.stderr:
            if line.startswith(LISTENS):
                break
        host = line.removeprefix(LISTENS).split("/")[2]
        with urllib.request.urlopen(f"http://{host}/json", timeout=HANG_S) as answer:
            pages = [page for page in json.load(answer) if page["type"] == "page"]
        address = pages[0]["webSocketDebuggerUrl"]
        self.connect(address)
        for domain in ("Page", "Runtime"):
            self.do(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()
        self.temporary.cleanup()
        self.disconnect()

    def note(self, message: dict) -> None:
        """Keep the text of an exception in the page, if a message tells of one."""
        if message.get("method") == "Runtime.exceptionThrown":
            details = message["params"]["exceptionDetails"]
            self.errors.append(str(details.get("exception", details)))

    def value(self, expression: str) -> object:
        """Return the value of an expression of JavaScript; a promise is waited for."""
        asked = self.do(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in asked, asked["exceptionDetails"]
        return asked["result"].get("value")

    def open(self, path: Path, fragment: str = "", width: int = 1600, height: int = 1100) -> None:
        """Open a page of this size, and wait until it says that it is ready."""
        self._open(
            path.as_uri() + fragment, width, height, "document.documentElement?.dataset.ready"
        )

    def visit(self, path: Path, width: int = 1600, height: int = 1100) -> None:
        """Open a page that does not say when it is ready: wait until all is loaded."""
        loaded = "location.protocol == 'file:' && document.readyState == 'complete'"
        self._open(path.as_uri(), width, height, loaded)

    def _open(self, address: str, width: int, height: int, ready: str) -> None:
        """Set the size, load the address, and wait until the expression `ready` is true."""
        self.do(
            *("Emulation.setDeviceMetricsOverride",),
            **{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        self.do("Page.navigate", url="about:blank")
        self.do("Page.navigate", url=address)
        self.value(
            f"new Promise(done => {{ const look = () => {ready}"
            " ? done(true) : setTimeout(look, 20); look(); })"
        )

    def painted(self) -> None:
        """Wait until everything requested so far is drawn."""
        self.value("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")

    def dark(self, on: bool) -> None:
        """Prefer dark colours, or light ones."""
        feature = {"name": "prefers-color-scheme", "value": "dark" if on else "light"}
        self.do("Emulation.setEmulatedMedia", features=[feature])

    def key(self, name: str) -> None:
        """Press a key."""
        text = {"text": name} if len(name) == 1 else {}
        self.do("Input.dispatchKeyEvent", type="keyDown", key=name, **text)
        self.do("Input.dispatchKeyEvent", type="keyUp", key=name)
        self.painted()

    def click(self, x: float, y: float) -> None:
        """Click at a point of the window."""
        for kind in ("mousePressed", "mouseReleased"):
            self.do(
                *("Input.dispatchMouseEvent",),
                **{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1},
            )
        self.painted()

    def picture(self, out: Path) -> None:
        """Write what the page shows, all of it, as PNG."""
        self.painted()
        shot = self.do("Page.captureScreenshot", captureBeyondViewport=True)
        out.write_bytes(base64.b64decode(shot["data"]))
