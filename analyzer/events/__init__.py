"""The event log: the model, the codec and the appender. It runs inside other people's agents, so it stays light.

Names are loaded on first use: a program that only names `EventLog` loads neither the codec nor the search for secrets.
"""

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from analyzer.events.appending.part import sealed
    from analyzer.events.codec import Reject, decode, encode
    from analyzer.events.log import EventLog, error_payload
    from analyzer.events.model import Event, Origin

_HOMES = {
    "Event": "model",
    "EventLog": "log",
    "Origin": "model",
    "Reject": "codec",
    "decode": "codec",
    "encode": "codec",
    "error_payload": "log",
    "sealed": "appending.part",
}

__all__ = ["Event", "EventLog", "Origin", "Reject", "decode", "encode", "error_payload", "sealed"]


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Kept: from now on it is found without this function.
    found = globals()[name] = getattr(import_module(f"analyzer.events.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
