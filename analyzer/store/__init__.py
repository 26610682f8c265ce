"""The DuckDB projection of the logs. Derived: it can be thrown away and read again.

Names are loaded on first use: a query needs no code that reads logs, and an ingest without anything
new needs no frames.
"""

from analyzer.lazy import face

__getattr__, __dir__, __all__ = face(__name__)
