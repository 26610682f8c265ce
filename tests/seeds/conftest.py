"""Simulated time and a log, as the tests of recovery have them."""

from __future__ import annotations

from tests.recovery.conftest import clock, log, settings

__all__ = ["clock", "log", "settings"]
