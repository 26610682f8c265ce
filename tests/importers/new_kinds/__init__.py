"""Logs of many agents, each in its producer's shape, and what must be read of them."""
