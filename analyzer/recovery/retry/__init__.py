"""A call or a command tried again: what a policy allows, how long to wait, what a chain of tries leaves as events."""
