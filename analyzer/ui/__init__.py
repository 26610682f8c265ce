"""Serve the answers as live pages: the server and its guard, the pages, and what grows while they are read."""
