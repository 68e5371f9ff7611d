"""Firefox without a window, driven over WebDriver BiDi, which it speaks itself."""

import os
import re
import subprocess
from pathlib import Path

from browser import Driven, find_browser

from sluice.system.qemu import die_with_parent

NAMES = ("firefox-esr", "firefox")
LISTENS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
READY = """new Promise(done => {
  const look = () => document.documentElement.dataset.ready ? done(true) : setTimeout(look, 20);
  look();
})"""


class Firefox(Driven):
    """One page. A context manager that ends the browser. Skips the test if there is none.

    folder: an empty one, for its profile.
    """

    def __init__(self, folder: Path) -> None:
        program = find_browser(NAMES)
        super().__init__()
        words = [program, "--headless", "--no-remote", "--profile", str(folder)]
        self.process = subprocess.Popen(
            [*words, "--remote-debugging-port=0"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"HOME": str(folder), "TMPDIR": str(folder)},
            preexec_fn=die_with_parent,
        )

    def __enter__(self) -> "Firefox":
        found = next(filter(None, map(LISTENS.search, self.process.stderr)))
        self.connect(f"{found[1]}/session")
        self.do("session.new", capabilities={})
        self.do("session.subscribe", events=["log.entryAdded"])
        self.context = self.do("browsingContext.getTree")["contexts"][0]["context"]
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()
        self.disconnect()

    def note(self, message: dict) -> None:
        """Keep the text of an error that the page logs, if the message is about one."""
        if message.get("method") == "log.entryAdded" and message["params"]["level"] == "error":
            self.errors.append(message["params"]["text"])

    def value(self, expression: str) -> object:
        """Return the value of an expression of JavaScript, as text; a promise is waited for."""
        target = {"context": self.context}
        asked = self.do(
            *("script.evaluate",), expression=expression, target=target, awaitPromise=True
        )
        assert asked["type"] == "success", asked
        return asked["result"].get("value")

    def open(self, path: Path) -> None:
        """Open a page, and wait until it says that it is ready."""
        self.do(
            *("browsingContext.navigate",),
            **{"context": self.context, "url": path.as_uri(), "wait": "complete"},
        )
        self.value(READY)
