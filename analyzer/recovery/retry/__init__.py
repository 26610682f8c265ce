"""Retries of calls and commands: the policy, the waits, and the events of a chain of tries."""
