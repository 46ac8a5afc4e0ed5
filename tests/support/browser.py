"""A real browser for the tests of pages: Debian's chromium, without a window, asked over a pipe.

The browser speaks the DevTools protocol as JSON texts that end in a zero byte, so nothing but the
standard library is needed. Without a browser the tests skip and name the cure; with CI=true they
fail instead.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CURE = "no browser is there: run .ci/setup-browser, or apt-get install chromium"


def find_browser() -> str:
    """Path of a browser; skip where there is none."""
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return found
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI=true, but {CURE}")
    pytest.skip(CURE)


class Browser:
    """One page in a browser of its own; use it in a ``with`` statement."""

    def __init__(self) -> None:
        self.profile = tempfile.TemporaryDirectory(
            prefix="ewp-browser-", ignore_cleanup_errors=True
        )
        asked, self._to = os.pipe()
        self._from, answered = os.pipe()
        options = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--remote-debugging-pipe",
            f"--user-data-dir={self.profile.name}",
            "about:blank",
        ]

        def connect() -> None:
            # the protocol wants its pipes as the file descriptors 3 and 4
            for wanted, copy in zip((3, 4), (os.dup(asked), os.dup(answered)), strict=True):
                os.dup2(copy, wanted)
                os.set_inheritable(wanted, True)

        self.process = subprocess.Popen(
            [find_browser(), *options],
            preexec_fn=connect,
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(asked)
        os.close(answered)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(30)
        os.close(self._to)
        os.close(self._from)
        self.profile.cleanup()

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._from, 2**20)
            if not part:
                raise RuntimeError(f"the browser ended with status {self.process.wait(30)}")
            self._buffer += part
        text, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask the browser and wait for its answer; events are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def open(self, path: Path, *, width: int, dark: bool = False, media: str = "") -> None:
        """Load a file at a width and wait until it is there."""
        self.events.clear()
        phone = width < 500
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=812 if phone else 900,
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        answer = self.call("Page.navigate", url=path.resolve().as_uri())
        if "errorText" in answer:
            raise RuntimeError(f"{path}: {answer['errorText']}")
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            answer = self._receive()
            if "method" in answer:
                self.events.append(answer)

    def ask(self, expression: str) -> Any:
        """Value of a JavaScript expression."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return answer["result"].get("value")

    @property
    def complaints(self) -> list[str]:
        """Errors and warnings on the console since the page was opened."""
        wanted = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")
        return [json.dumps(e["params"]) for e in self.events if e["method"] in wanted]

    @property
    def requests(self) -> list[str]:
        """Addresses asked for since the page was opened."""
        sent = [e for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def picture(self, path: Path) -> None:
        """Write the whole page as a PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))
