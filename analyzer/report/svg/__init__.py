"""Figures and trends as SVG inside a page: no script, readable aloud, in the colours of the page."""
