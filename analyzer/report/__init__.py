"""Results become what people and machines read, without SQL and statistics; nothing is printed or written here.

Names are loaded on first use: escaping a text needs no frames.
"""

from analyzer.lazy import face

__getattr__, __dir__, __all__ = face(__name__)
