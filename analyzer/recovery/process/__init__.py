"""A command and its processes: its start, its streams, its end, and its supervision."""
