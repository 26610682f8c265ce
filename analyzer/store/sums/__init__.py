"""Count sessions, groups and events by day for detection, on each request."""
