"""The event log: the model, the codec and the appender. It runs inside other people's agents, so it stays light."""

from analyzer.events.appending.part import sealed
from analyzer.events.codec import decode, encode
from analyzer.events.log import EventLog
from analyzer.events.model import Event, Origin
from analyzer.events.rejects import Reject
from analyzer.events.typed import error_payload

__all__ = ["Event", "EventLog", "Origin", "Reject", "decode", "encode", "error_payload", "sealed"]
