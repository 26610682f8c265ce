"""Find what goes wrong without errors: silence, failing tools, waits, retries and hand-offs."""
