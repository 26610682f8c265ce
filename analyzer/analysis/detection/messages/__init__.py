"""Single messages against history: those that are new to a caller or a fleet, and those that took a rule's place."""
