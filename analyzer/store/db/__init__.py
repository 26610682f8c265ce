"""The DuckDB file: connections, tables and views, locks, frames, and one file taking the place of another."""
