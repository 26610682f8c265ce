"""Forty nights of three callers, made by hand: logs that a nightly job would find, one file a day."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path

from tests import Native

START = date(2026, 9, 7)
NEW_ON = 30
"""The night on which a provider begins to say something new to one of the callers."""
WORDING = "lattice gate {} closed by curator {}"
CALLERS = {"planner": 12, "coder": 18, "reviewer": 9}
"""Sessions a day."""
_KNOWN = (
    ("rate_limited", {"status": 429, "message": "Too Many Requests, slow down"}),
    ("network_transient", {"status": 529, "message": "Overloaded"}),
    ("validation", {"status": 400, "message": "messages: at least one message is required"}),
)


def day_of(number: int) -> date:
    """The day so many days after the first."""
    return START + timedelta(days=number)


def after(number: int) -> str:
    """The moment at which that day is over, as an argument."""
    return day_of(number + 1).isoformat()


def write_nights(folder: Path, native: Native, nights: int) -> Path:
    """Logs of so many days; from `NEW_ON` on every other session of `planner` meets the new wording."""
    folder.mkdir(exist_ok=True)
    for number in range(nights):
        lines = [line for caller in CALLERS for line in _day(native, caller, number)]
        (folder / f"{day_of(number)}.jsonl").write_bytes(b"".join(lines))
    return folder


def _day(native: Native, caller: str, number: int) -> list[bytes]:
    lines = []
    for session in range(CALLERS[caller]):
        name = f"{caller}-{number}-{session}"
        day = day_of(number)
        at = datetime(day.year, day.month, day.day, 8, session).isoformat()
        reason, facts = _KNOWN[(number + session) % len(_KNOWN)]
        lines.append(native(f"{name}-k", at=at, session=name, caller=caller, reason=reason, facts=facts))
        usual = session == 0 and number % 5 == len(caller) % 5
        new = caller == "planner" and number >= NEW_ON and session % 2 == 0
        if usual or new:
            message = WORDING.format(number, session) if new else f"ledger page {number} was folded twice"
            facts = {"message": message}
            lines.append(native(f"{name}-u", at=at, session=name, caller=caller, reason="unknown", facts=facts))
    return lines
