"""Files that are no lines, as lines: documents and databases, one record a line."""
