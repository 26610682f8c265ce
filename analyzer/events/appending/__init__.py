"""The appender of a log on disk: parts, folders, syncs, and the system calls that they use."""

DEFAULT_MAX_BYTES = 128 * 1024 * 1024
"""The size in bytes at which a new part is begun, so that a reader can finish a part."""
