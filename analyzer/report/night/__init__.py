"""Turn a night of `analyzer check` into text, Markdown, mail, messages, metrics; run it nightly."""
