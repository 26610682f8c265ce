"""A conversation that no longer fits its model's context window, and the ways to make it fit."""
