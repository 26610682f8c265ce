"""Readers of agents whose logs are a transcript of a session: messages and tools, and errors where they are told."""
