"""Reading in as many processes as there are processors: what can be handed over, and who does it."""
