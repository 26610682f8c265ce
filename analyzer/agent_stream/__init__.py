"""What an agent's stream-json says of its run, read in one place for live supervision and for imported logs.

A record of one run has one answer here, whoever asks; what is done about it belongs to `recovery/` and `importers/`.
"""
