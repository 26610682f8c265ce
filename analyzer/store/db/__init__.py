"""The DuckDB file: connections, tables, views, locks, frames, and the file's replacement."""
