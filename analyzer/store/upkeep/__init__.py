"""A store kept in order: made again, pruned, its quarantine tried again."""
