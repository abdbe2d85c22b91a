"""A headless Chromium, driven over its debugging pipe: load a page, run JavaScript, press keys, take pictures."""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
LIMIT = 60.0
"""Seconds that an answer may take."""


def find_chromium() -> str | None:
    """Return the path of a Chromium, or None."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A page of a running Chromium."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write, self._numbers = read, write, itertools.count(1)
        self._rest, self._session = b"", None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Performance.enable", timeDomain="threadTicks")  # CPU time: other processes take none of it
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol, and return its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], LIMIT)
            assert ready, "no answer from Chromium"
            part = os.read(self._read, 1 << 20)
            assert part, "Chromium has ended"
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def load(self, path: Path) -> None:
        """Load a file, and wait until it is drawn."""
        self.events.clear()
        loader = self.call("Page.navigate", url=path.as_uri())["loaderId"]
        loaded = {"name": "load", "loaderId": loader}
        while not any(
            event.get("method") == "Page.lifecycleEvent" and loaded.items() <= event["params"].items()
            for event in self.events
        ):
            self.events.append(self._next())

    def run(self, expression: str) -> Any:
        """Return the value of a JavaScript expression; a promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def worked(self) -> float:
        """Return the milliseconds of CPU time that the page's scripts, style and layout have taken."""
        metrics = {row["name"]: row["value"] for row in self.call("Performance.getMetrics")["metrics"]}
        return 1000 * float(metrics["TaskDuration"])

    def press(self, key: str, text: str = "") -> None:
        """Press and release a key."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39}
        details = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper()))}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text or ("\r" if key == "Enter" else ""), **details)
        self.call("Input.dispatchKeyEvent", type="keyUp", **details)

    def look(self, width: int = 1440, height: int = 1000, *, dark: bool = False) -> None:
        """Set the size of the window and the colour scheme."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Write a picture of the window, or of the whole page, as PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]))

    def problems(self) -> list[str]:
        """Return the messages in the console, exceptions, and requests other than for the page itself."""
        self.run("1")
        found = []
        for event in self.events:
            method, details = event.get("method", ""), event.get("params", {})
            if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
                found.append(json.dumps(details))
            elif method == "Network.requestWillBeSent" and details["request"]["url"] != details["documentURL"]:
                found.append(details["request"]["url"])
        return found


@contextmanager
def running(program: str) -> Iterator[Browser]:
    """Run Chromium while the block runs."""
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # a process that is being killed may write yet
        options = (
            *("--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run"),
            *("--disable-background-networking", "--disable-dev-shm-usage", f"--user-data-dir={folder}"),
        )
        connected = f'exec "$0" "$@" 3<&{to_read} 4>&{from_write}'  # the descriptors that Chromium uses
        process = subprocess.Popen(
            ["bash", "-c", connected, program, *options],
            pass_fds=(to_read, from_write),
            env={**os.environ, "TMPDIR": folder},
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield Browser(from_read, to_write)
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # with its renderers, which write to the folder too
            process.wait()
            for descriptor in (to_read, to_write, from_read, from_write):
                os.close(descriptor)
