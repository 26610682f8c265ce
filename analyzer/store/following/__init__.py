"""Logs followed as they grow: which of them have changed, and what their new lines say, without a store."""
