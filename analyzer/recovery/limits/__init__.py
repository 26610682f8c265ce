"""Limits on disk for all processes of a machine: rate limits by provider, usage limits by agent."""
