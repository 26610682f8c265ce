"""For each pattern of the prefilter, words one of which stands in all data that it finds: worked out before, and kept.

`python -m tests.reference` writes them down. Invariant: words of other patterns than the present ones are not used.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Sequence
from functools import lru_cache

KEPT = os.path.join(os.path.dirname(__file__), "trace_words.json")


@lru_cache(maxsize=1)
def words_of_traces(traces: tuple[str, ...]) -> list[list[bytes]]:
    """The words of each pattern, in lower case; none for a pattern that every text is to be searched for.

    Empty where they were worked out for other patterns, or for none.
    """
    try:
        with open(KEPT, "rb") as handle:
            kept = json.loads(handle.read())
    except (OSError, ValueError):
        return []
    if kept["traces"] != traces_number(traces):
        return []
    return [[word.encode() for word in words] for words in kept["words"]]


def traces_number(traces: Sequence[str]) -> str:
    """The CRC-32 of the patterns."""
    return f"{zlib.crc32(chr(10).join(traces).encode()):08x}"
