"""The report as one HTML page: templates own its structure, Python its data; charts are SVG in its colours."""
