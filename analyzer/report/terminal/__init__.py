"""Results for a terminal, never wider than asked."""
