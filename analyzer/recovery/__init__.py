"""Recovery from classified errors, and the events that it logs.

Names are loaded on first use, so that the rate guard costs no context recovery and no processes.
"""

from analyzer.lazy import face

__getattr__, __dir__, __all__ = face(__name__)
