"""The report as one HTML page: templates own its structure, Python its data.

Charts are SVG in its colours.
"""
