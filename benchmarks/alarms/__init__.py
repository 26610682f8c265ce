"""Fleets with known incidents, and what a detector tells of them: `python -m benchmarks.alarms`."""
