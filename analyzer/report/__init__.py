"""Turn results into text for people and machines, without SQL, statistics, printing or writing.

Names are loaded on first use: escaping a text needs no frames.
"""

from analyzer.lazy import face

__getattr__, __dir__, __all__ = face(__name__)
