"""Readers of what coding agents leave behind: one module a kind of log, on what `records` gives all of them."""
