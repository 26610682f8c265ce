"""The report as one HTML page, and the sections and tables that the Markdown report shares with it."""
