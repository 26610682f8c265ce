"""The content of a database file: tables with typed columns, macros and views, and versions."""
