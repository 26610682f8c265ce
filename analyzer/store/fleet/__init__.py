"""Share event lines with other machines by one append-only Delta table, which any tool for Delta tables reads."""
