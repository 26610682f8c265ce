"""Results as Markdown, JSON, metrics, messages and files."""
