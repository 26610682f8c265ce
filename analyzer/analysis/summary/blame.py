"""Whose fault errors at a provider were, and what speaks for it, in one sentence.

Invariant: the party is the one of `errors-blame`; the sentence gives the counts that it was judged by.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analyzer.readable import counted

WHOSE = {
    "provider": "theirs",
    "network": "the network's",
    "account": "yours, the account's",
    "request": "yours, what was asked",
    "environment": "yours, this machine's",
    "user": "somebody's who stopped it",
}
"""Whose fault an error of each party is; of others it is `NOBODY`."""
NOBODY = "of unknown cause"


def blame(row: Mapping[str, Any]) -> str:
    """The sentence on a row of `errors-blame`, without a capital and a full stop."""
    first, last = row["first_at"], row["last_at"]
    span = f"at {first:%H:%M}" if f"{first:%H:%M}" == f"{last:%H:%M}" else f"between {first:%H:%M} and {last:%H:%M}"
    when = f"{span} UTC on {first:%Y-%m-%d}"
    at = "" if row["provider"] == "(none)" else f" at {row['provider']}"
    text = (
        f"{WHOSE.get(row['party'], NOBODY)}: {row['failed_sessions']:,} of {counted(row['sessions'], 'session')}{at}"
        f" met {row['reason']} errors {when}"
    )
    if row["callers"] > 1 and row["failed_callers"]:
        text += f", {row['failed_callers']:,} of {counted(row['callers'], 'caller')} hit"
    if row["other_sessions"]:
        others = counted(row["other_sessions"], "session")
        text += f"; of {others} at other providers {row['other_failed_sessions']:,} did"
    return text
