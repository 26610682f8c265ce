"""What a report shows and in which order, once for HTML and Markdown: sections of tables, some with a chart."""
