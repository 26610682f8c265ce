"""Logs into a store: found, identified, read from their checkpoints, decoded, and written batch by batch."""
