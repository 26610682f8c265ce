"""Where agents keep their logs on a machine: one table, and the places that follow from it and an environment."""
