"""Keep a store in order: make it again, prune it, try its quarantine again."""
