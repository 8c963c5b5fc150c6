"""A headless Chromium driven by the DevTools protocol over two pipes: no driver program, no further package."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# The browser reads commands from descriptor 3 and writes answers to 4.
START = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
OPTIONS = (
    *("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "no-first-run", "hide-scrollbars"),
    *("disable-background-networking", "disable-component-update", "disable-extensions", "remote-debugging-pipe"),
)
KEYS = {"Escape": 27, "Enter": 13, "ArrowLeft": 37, "ArrowRight": 39}
LONGEST = 60.0  # seconds that an answer may take


class Browser:
    """One page in a browser of its own; `console` holds what it complained about, `requests` what was fetched."""

    def __init__(self, folder: Path) -> None:
        assert PROGRAM is not None
        to_browser, ours = os.pipe()
        theirs, from_browser = os.pipe()
        options = [f"--{option}" for option in OPTIONS]
        options.append(f"--user-data-dir={folder}")
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, str(to_browser), str(from_browser), PROGRAM, *options],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.commands, self.answers = os.fdopen(ours, "wb"), os.fdopen(theirs, "rb", buffering=0)
        self.buffer, self.number, self.session = b"", 0, ""
        self.console: list[str] = []
        self.requests: list[str] = []
        self.opened: set[str] = set()
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.commands.close()  # which ends the browser
        self.answers.close()
        try:
            self.process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def send(self, method: str, **params: Any) -> int:
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.commands.write(json.dumps(message).encode() + b"\0")
        self.commands.flush()
        return self.number

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = self.send(method, **params)
        while True:
            message = self.receive()
            if message.get("id") == number:
                assert "error" not in message, message["error"]
                return message["result"]

    def receive(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            part = os.read(self.answers.fileno(), 1 << 20)
            assert part, "the browser has ended"
            self.buffer += part
        line, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(line)
        match message.get("method"):
            case "Runtime.exceptionThrown":
                details = message["params"]["exceptionDetails"]
                self.console.append(details.get("exception", {}).get("description", details["text"]))
            case "Runtime.consoleAPICalled":
                self.console.append(str(message["params"]["args"]))
            case "Log.entryAdded":
                self.console.append(message["params"]["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
        return message

    def open(self, path: Path, width: int = 1280, height: int = 900, *, dark: bool = False, tail: str = "") -> None:
        """Show a file at a width in pixels."""
        self.ask(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        self.resize(width, height)
        self.ask("Page.navigate", url="about:blank")
        self.until("location.href === 'about:blank'")  # two navigations at once may block each other
        self.opened.add(path.resolve().as_uri())
        self.ask("Page.navigate", url=path.resolve().as_uri() + tail)
        self.until("document.readyState === 'complete' && document.querySelector('main > footer') !== null")

    def resize(self, width: int, height: int = 900) -> None:
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def run(self, expression: str) -> Any:
        """Value of an expression on the page, which may be a promise."""
        done = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def until(self, condition: str) -> None:
        end = time.monotonic() + LONGEST
        while not self.run(condition):
            assert time.monotonic() < end, f"{condition} never came true; console: {self.console}"
            time.sleep(0.05)

    def click(self, selector: str) -> None:
        """Press the mouse in the middle of an element."""
        place = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        self.mouse("mousePressed", *place)
        self.mouse("mouseReleased", *place)
        self.settle()

    def mouse(self, kind: str, x: float, y: float) -> None:
        pressed = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **pressed)

    def key(self, name: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=KEYS[name])

    def settle(self) -> None:
        """Wait until what was changed is drawn."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Save what is seen, or the whole page, as PNG."""
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}} if whole else {}
        done = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **clip)
        path.write_bytes(base64.b64decode(done["data"]))
