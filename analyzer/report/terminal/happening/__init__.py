"""Single events for a terminal, a line each: those of one thing in order, and those that a watch sees."""
