"""Reads what a program writes to a terminal."""

from __future__ import annotations

import contextlib
import os


def all_of(terminal: int) -> str:
    """Everything that was written to a terminal whose other end is closed; it comes in parts."""
    parts = []
    with contextlib.suppress(OSError), os.fdopen(terminal, "rb", buffering=0) as reader:
        while part := reader.read(65_536):
            parts.append(part)
    return b"".join(parts).decode()
