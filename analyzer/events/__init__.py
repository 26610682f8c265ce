"""The event log: the model, the codec and the appender. It runs inside other people's agents, so it stays light.

Names are loaded on first use: importing `EventLog` loads neither the codec nor the search for secrets.
"""

from analyzer.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from analyzer.events.appending.appender import sealed
    from analyzer.events.codec import Reject, decode, encode
    from analyzer.events.log import EventLog, error_payload
    from analyzer.events.model import Event, Origin

__getattr__, __dir__ = face(
    __name__,
    {
        "model": "Event Origin",
        "log": "EventLog error_payload",
        "codec": "Reject decode encode",
        "appending.appender": "sealed",
    },
)

__all__ = ["Event", "EventLog", "Origin", "Reject", "decode", "encode", "error_payload", "sealed"]
