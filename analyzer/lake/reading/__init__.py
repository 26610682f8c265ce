"""Logs as executors read them: files and ranges of files out, events and the book-keeping of their sources back."""
