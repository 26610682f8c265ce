"""Write a night of `analyzer check` in all its forms, and the job that runs it."""
