"""Turn unknown errors into rules: groups, nearest known errors, drafts, effects of a ruleset."""
