"""The report as one HTML page: templates own its structure, Python its data."""
