"""The tests; they mirror `analyzer/`."""
