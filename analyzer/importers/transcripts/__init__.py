"""Readers of agents whose logs are transcripts of sessions: messages, tools, and some errors."""
