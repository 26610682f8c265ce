"""The report as one HTML page: its templates, its data, and its charts as SVG in its colours."""
