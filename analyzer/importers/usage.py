"""Requests to models with their tokens, gathered by block: one event tells many of them, as one event each would make
an ingest of transcripts a third slower.

Invariant: whatever is told twice, in one log or in several, has the same name and counts once, in the view `usage`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analyzer.events.model import present

MOST = 64
"""Requests of one event: more would make a line so long that it takes the slow way through every cleaning."""

TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


class Gathered:
    """Holds the requests of a block, by what their events have in common."""

    def __init__(self) -> None:
        self._requests: dict[tuple[tuple[str, Any], ...], dict[str, dict[str, Any]]] = {}

    def add(self, request: str, tokens: Mapping[str, Any], **shared: Any) -> None:
        """Add a request by its name; of several of one name that with the most output tokens is kept.

        `tokens` are the fields of `RequestTold`, `shared` the fields of the payload that several requests have in
        common; those that are None or 0 are left out. A request without any token is none.
        """
        told = {key: value for key, value in tokens.items() if value}
        held = self._requests.setdefault(tuple(present(shared).items()), {})
        if any(map(tokens.get, TOKENS)) and (
            request not in held or held[request].get("output_tokens", 0) < told.get("output_tokens", 0)
        ):
            held[request] = {"request": request, **told}

    def payloads(self) -> Iterator[dict[str, Any]]:
        """Take the payloads of `usage.recorded` that tell what was gathered; nothing is held afterwards."""
        gathered, self._requests = self._requests, {}
        for shared, requests in gathered.items():
            told = list(requests.values())
            for start in range(0, len(told), MOST):
                yield {**dict(shared), "requests": told[start : start + MOST]}
