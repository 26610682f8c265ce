"""Write a night of `analyzer check` as text, Markdown, mail, messages and metrics, and the job that runs it."""
