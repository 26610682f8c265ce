"""Log lines with known templates: `tests/analysis/rules/templates.jsonl` filled with made-up values.

Each entry is a format string of the kind that well-known systems print, with named slots and the number of lines that
it gives in one round; the same seed gives the same lines.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

CORPUS = Path(__file__).resolve().parents[1] / "tests" / "analysis" / "rules" / "templates.jsonl"

_USERS = [
    "root",
    "admin",
    "test",
    "guest",
    "oracle",
    "postgres",
    "nagios",
    "webmaster",
    "ftp",
    "mysql",
    "cyrus",
    "news",
    "backup",
    "git",
    "ubuntu",
    "pi",
    "support",
]
_WORDS = [
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heron",
    "iris",
    "jasper",
    "kelp",
    "lotus",
    "maple",
    "north",
    "onyx",
]
_NOUNS = ("Job", "Task", "Main", "Photo", "Sync")
_NAMES = ["alpha", "bravo", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy"]
_TOPS = ["example.com", "example.org", "corp.example.net", "cluster.example", "lab.example.edu"]


class Line(NamedTuple):
    """One log line."""

    system: str
    label: int
    """Which entry of the corpus it came from."""
    text: str


def corpus(seed: int = 1, rounds: int = 1) -> list[Line]:
    """`rounds` times every entry's number of lines, shuffled."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    entries = [json.loads(text) for text in CORPUS.read_text("utf-8").splitlines()]
    lines = [
        Line(entry["system"], label, entry["template"].format_map(_Values(rng)))
        for label, entry in enumerate(entries)
        for _ in range(entry["lines"] * rounds)
    ]
    rng.shuffle(lines)
    return lines


class _Values(dict[str, str]):
    """Makes a value for each slot of a format string."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def __getitem__(self, name: str) -> str:
        return _MAKERS[name](self._rng)


def _ip(rng: random.Random) -> str:
    return f"{rng.choice((10, 172, 192, 203))}.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(1, 255)}"


def _host(rng: random.Random) -> str:
    name = rng.choice((rng.choice(_WORDS), f"{rng.choice(_WORDS)}-{rng.randrange(40)}", f"node{rng.randrange(200)}"))
    return f"{name}.{rng.choice(_TOPS)}"


def _path(rng: random.Random) -> str:
    parts = [rng.choice(("var", "usr", "home", "mnt", "etc")), *rng.choices(_WORDS, k=rng.randrange(1, 4))]
    return "/" + "/".join(parts) + rng.choice(("", "", f"/{rng.choice(_WORDS)}.conf", f"/part-{rng.randrange(999):05}"))


def _hex(digits: int) -> Callable[[random.Random], str]:
    return lambda rng: f"{rng.getrandbits(4 * digits):0{digits}x}"


def _uuid(rng: random.Random) -> str:
    return "-".join(_hex(size)(rng) for size in (8, 4, 4, 4, 12))


def _clock(rng: random.Random) -> str:
    return f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}"


def _ctime(rng: random.Random) -> str:
    day = rng.choice(("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"))
    month = rng.choice(("Jan", "Mar", "Jun", "Jul", "Nov", "Dec"))
    return f"{day} {month} {rng.randrange(1, 29):2} {_clock(rng)} {rng.randrange(2005, 2027)}"


def _choice(*values: str) -> Callable[[random.Random], str]:
    return lambda rng: rng.choice(values)


def _number(low: int, high: int) -> Callable[[random.Random], str]:
    return lambda rng: str(rng.randrange(low, high))


_MAKERS: dict[str, Callable[[random.Random], str]] = {
    "action": _choice("SCREEN_ON", "SCREEN_OFF", "TIME_TICK", "DATE_CHANGED", "USER_PRESENT", "BATTERY_LOW"),
    "anyhost": lambda rng: rng.choice((_ip, _host))(rng),
    "bgnode": _choice("bglio1", "bglio22", "bglio330", "bglio7"),
    "big": lambda rng: str(rng.randrange(10**9, 10**13)),
    "blk": lambda rng: f"blk_{rng.choice(('', '-'))}{rng.randrange(10**15, 10**19)}",
    "client": _choice("WindowsUpdateAgent", "SPP", "CbsTask", "lpksetup", "DISM"),
    "cls": lambda rng: (
        rng.choice(("Job", "Task", "Main", "Photo", "Sync")) + rng.choice(("Event", "Activity", "Handler", "View"))
    ),
    "ctime": _ctime,
    "daemon": _choice("crond", "syslogd", "rpc.statd", "named", "portmap", "sendmail", "xinetd"),
    "dotted": lambda rng: f"com.example.{rng.choice(_WORDS)}.{rng.choice(_NAMES)}",
    "email": lambda rng: f"{rng.choice(_NAMES)}@{rng.choice(_TOPS)}",
    "fan": lambda rng: " ".join(str(rng.randrange(2900, 3600)) for _ in range(6)),
    "float": lambda rng: f"{rng.random() * 10 ** rng.randrange(4):.{rng.randrange(1, 4)}f}",
    "hex": lambda rng: f"0x{rng.getrandbits(rng.choice((16, 32, 48))):x}",
    "hex8": _hex(8),
    "hexid": lambda rng: _hex(rng.choice((7, 32)))(rng) if rng.random() < 0.5 else _hex(32)(rng),
    "host": _host,
    "int": _number(0, 40_000),
    "ip": _ip,
    "iso": lambda rng: (
        f"2026-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}T{rng.randrange(24):02}:15:{rng.randrange(60):02}Z"
    ),
    "letter": _choice("A", "B", "C", "D"),
    "life": lambda rng: rng.choice(
        ("<1 sec", f"{rng.randrange(60):02}:{rng.randrange(60):02}", f"01:{rng.randrange(60):02}:07")
    ),
    "loc": _choice("cpu", "ambient", "disk bay"),
    "mac": lambda rng: ":".join(_hex(2)(rng) for _ in range(6)),
    "maybehost": lambda rng: rng.choice(("", _host(rng))),
    "model": lambda rng: rng.choice(("lark-2", "lark-2-mini", "osprey-7b", "wren-large-3")),
    "negative": lambda rng: str(rng.randrange(-20, 9)),
    "onoff": _choice("on", "off"),
    "package": lambda rng: (
        f"Package_for_KB{rng.randrange(10**6, 10**7)}~31bf3856ad364e35~amd64~~6.1.{rng.randrange(9)}.0"
    ),
    "path": _path,
    "port": _number(1024, 65_536),
    "proxyhost": lambda rng: rng.choice(
        (_host(rng), f"{rng.choice(_WORDS)}.{rng.choice(_NAMES)}.example.cn", _ip(rng))
    ),
    "psu": _choice("on", "off", "ok"),
    "region": _choice("eu-west-1", "us-east-2", "ap-south-1"),
    "reqid": lambda rng: (
        "req_" + "".join(rng.choices("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ123456789", k=24))
    ),
    "sizeunit": _choice("KB", "MB", "GB"),
    "small": _number(0, 12),
    "state": _choice("NEW", "UNASSIGNED", "ASSIGNED", "RUNNING", "SCHEDULED", "SUCCEEDED", "COMMIT_PENDING", "KILLED"),
    "status": _choice("200", "202", "204", "404"),
    "tag": _choice("View Lock", "RILJ", "*launch*", "WindowManager"),
    "tool": lambda rng: f"{rng.choice(_WORDS)}_{rng.choice(_NAMES)}",
    "truth": _choice("true", "false"),
    "updown": _choice("Up", "Down"),
    "uri": lambda rng: f"hdfs://{_ip(rng)}:9000{_path(rng)}",
    "user": lambda rng: rng.choice(_USERS),
    "users": lambda rng: ", ".join(rng.sample(_USERS, rng.randrange(1, 4))),
    "uuid": _uuid,
    "version": lambda rng: f"{rng.randrange(1, 7)}.{rng.randrange(12)}.{rng.randrange(9)}-{rng.randrange(20)}",
    "vmstate": _choice("Started", "Stopped", "Paused", "Resumed"),
    "wake": _choice("RTC (Alarm)", "EC.LidOpen (User)", "ARPT (Network)"),
    "winpath": lambda rng: rf"C:\Windows\winsxs\amd64_{rng.choice(_WORDS)}_{_hex(16)(rng)}\cbscore.dll",
    "word": lambda rng: rng.choice(_WORDS),
    "ws": lambda rng: rng.choice(("null", f"WorkSource{{{rng.randrange(10**4, 10**5)}}}")),
    "zero": _choice("0", "0", "0", "500"),
}
