"""From unknown errors to rules: groups, nearest known errors, drafts, and what a ruleset would change."""
