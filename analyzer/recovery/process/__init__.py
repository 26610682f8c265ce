"""A command as a group of processes: its start, its streams and its end."""
