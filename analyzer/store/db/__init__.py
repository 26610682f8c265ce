"""Hold the DuckDB file: connections, tables and views, locks, frames, and the replacement of a
file.
"""
