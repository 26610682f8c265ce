"""Count by day what detection asks for: sums of sessions, groups and events, worked out on each
request.
"""
