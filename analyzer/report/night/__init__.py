"""Nights of `analyzer check`: their documents, messages, metrics, and the job that runs every night."""
