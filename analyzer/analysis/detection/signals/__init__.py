"""What goes wrong without an error: sessions that stay away, tools that fail, waits, retries and hand-offs."""
