"""Counts of errors against exposure: the rises of callers, and the outages of providers and models."""
