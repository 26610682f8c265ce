"""Draw charts as SVG in the colours of the page, or by the script of plotly."""
