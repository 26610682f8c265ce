"""The event log: the model, the codec and the appender. It runs inside other people's agents, so it stays light.

Names are loaded on first use: importing `EventLog` loads neither the codec nor the search for secrets.
"""

from analyzer.lazy import face

__getattr__, __dir__, __all__ = face(__name__)
