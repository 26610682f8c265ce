"""Checks of stores, journals and log folders; each says what it found and what to do."""
