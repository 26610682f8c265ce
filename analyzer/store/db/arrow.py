"""Objects of which nothing is seen but their Arrow C stream.

Invariant: this module knows neither DuckDB nor polars. Where numpy is installed, polars remembers the class of whatever
it reads for good, and all that a class leads to with it: DuckDB's binding would print a page about leaks at the end.
"""

from __future__ import annotations

from typing import Any, Protocol


class ArrowStream(Protocol):
    """Anything with an Arrow C stream, as DuckDB's results are; its stubs do not say so."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule with the stream."""


class OnlyStream:
    """The stream alone: DuckDB would ask for pyarrow at the sight of a polars frame."""

    __slots__ = ("_of",)

    def __init__(self, of: ArrowStream) -> None:
        self._of = of

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        return self._of.__arrow_c_stream__(requested_schema)
