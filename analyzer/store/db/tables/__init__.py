"""What a database file is made of: its tables with their typed columns, its macros and views, and their versions."""
