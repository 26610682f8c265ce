"""A headless browser that a test drives as a person would: a pointer, a keyboard and a clipboard.

It speaks the DevTools protocol (https://chromedevtools.github.io/devtools-protocol/) over a pair of pipes, messages of
JSON ended by a zero byte, so that neither a port nor a library is needed.
"""

from __future__ import annotations

import json
import os
import selectors
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36, "ArrowUp": 38, "ArrowDown": 40}
"""Names of keys and their codes of old, which the browser wants beside the name."""
_ANSWER_SECONDS = 60
_SWITCHES = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--remote-debugging-pipe", "--window-size=1200,900", "about:blank",
)  # fmt: skip


def browser_or_skip(untested: str) -> str:
    """The browser of this machine; without one the test is skipped, and says what was not tested."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"{untested}: none of {', '.join(BROWSERS)} is installed")
    return path


class Browser:
    """One running browser with one page; it is slow to start and quick to lead to another page."""

    def __init__(self, commands: int, answers: int, downloads: Path) -> None:
        self.downloads = downloads
        self.complaints: list[str] = []
        """What consoles, policies and uncaught errors of all pages said."""
        self._commands, self._answers = commands, answers
        self._heard, self._last = b"", 0
        self._session: str | None = None
        self._loaded: set[str] = set()
        self._selector = selectors.DefaultSelector()
        self._selector.register(answers, selectors.EVENT_READ)
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        self.ask("Page.setLifecycleEventsEnabled", enabled=True)
        self.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))
        self.ask("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The browser's answer to one command of the protocol."""
        self._last += 1
        number = self._last
        whole = not method.startswith(("Target.", "Browser."))
        message = {"id": number, "method": method, "params": params} | ({"sessionId": self._session} if whole else {})
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer)
                return dict(answer["result"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._heard:
            assert self._selector.select(_ANSWER_SECONDS), "the browser says nothing"
            part = os.read(self._answers, 1 << 20)
            assert part, "the browser has ended"
            self._heard += part
        raw, _, self._heard = self._heard.partition(b"\0")
        message: dict[str, Any] = json.loads(raw)
        method, params = message.get("method"), message.get("params", {})
        if method == "Page.lifecycleEvent" and params["name"] == "load":
            self._loaded.add(params["loaderId"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in {"warning", "error"}:
            self.complaints.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(json.dumps(params["args"]))
        return message

    def open(self, address: str, *, scripts: bool = True) -> None:
        """Lead to a page, and wait until it has loaded."""
        self.ask("Emulation.setScriptExecutionDisabled", value=not scripts)
        # By way of another page, as one that differs in its fragment alone would not be loaded anew.
        for place in ("about:blank", address):
            loader = self.ask("Page.navigate", url=place)["loaderId"]
            while loader not in self._loaded:
                self._next()

    def reload(self) -> None:
        """Load the page again, as the button of the browser does, and wait until that is done."""
        before = len(self._loaded)
        self.ask("Page.reload")
        while len(self._loaded) == before:
            self._next()

    def value(self, expression: str) -> Any:
        """What an expression of the page is worth, promises awaited."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, (expression, answer)
        return answer["result"].get("value")

    def click(self, element: str) -> None:
        """Move to the middle of an element, an expression of the page, and click what lies on top there."""
        place = self.value(
            f"(e => {{ e.scrollIntoView({{block: 'center', behavior: 'instant'}}); "
            "const b = e.getBoundingClientRect(); "
            "const x = b.left + b.width / 2, y = b.top + b.height / 2, top = document.elementFromPoint(x, y); "
            f"return {{x, y, on: e.contains(top), top: String(top && top.outerHTML).slice(0, 99)}}; }})({element})"
        )
        assert place["on"], (element, "is covered by", place["top"])
        at = {"x": place["x"], "y": place["y"], "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, **at)

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press one key and let go of it."""
        code = {"key": key, "code": "Space" if key == " " else key, "modifiers": 8 if shift else 0}
        text = {"Enter": {"text": "\r"}, " ": {"text": " "}}.get(key, {})
        number = {"windowsVirtualKeyCode": KEYS[key]}
        self.ask("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **code, **text, **number)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **code, **number)

    def write(self, text: str) -> None:
        """Type a text into what has the focus."""
        self.ask("Input.insertText", text=text)

    def choose(self, select: str, option: str) -> None:
        """Choose an option of a list with the keyboard, as its list is no part of the page that a pointer reaches."""
        self.value(f"{select}.focus()")
        self.press("Home")
        for _ in range(self.value(f"[...{select}.options].findIndex(each => each.text === {json.dumps(option)})")):
            self.press("ArrowDown")
        assert self.value(f"{select}.selectedOptions[0].text") == option

    def clipboard(self) -> str:
        """The text that was copied last."""
        return str(self.value("navigator.clipboard.readText()"))

    def downloaded(self, name: str) -> bytes:
        """The bytes of a file that the page has given; the next one may have the same name."""
        until = time.monotonic() + _ANSWER_SECONDS
        while not (self.downloads / name).exists():
            assert time.monotonic() < until, (name, os.listdir(self.downloads))
            self.value("new Promise(done => setTimeout(done, 20))")
        content = (self.downloads / name).read_bytes()
        (self.downloads / name).unlink()
        return content


@contextmanager
def browsing(path: str, folder: Path) -> Iterator[Browser]:
    """A browser for as long as the block lasts; its profile and downloads lie in a folder."""
    (downloads := folder / "downloads").mkdir()
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()

    # The browser takes its commands from descriptor 3 and answers on 4, which no argument of Popen can say.
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    moved = [(os.POSIX_SPAWN_DUP2, theirs_in, 3), (os.POSIX_SPAWN_DUP2, theirs_out, 4)]
    command = [path, f"--user-data-dir={folder / 'profile'}", *_SWITCHES]
    process = os.posix_spawn(path, command, os.environ, file_actions=[*nowhere, *moved], setsid=True)
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Browser(ours_out, ours_in, downloads)
    finally:
        os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(ours_out)
        os.close(ours_in)
