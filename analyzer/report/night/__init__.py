"""A night of `analyzer check` as text, Markdown, mail, messages, metrics, and the job that runs it."""
