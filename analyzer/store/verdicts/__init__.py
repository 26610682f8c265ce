"""What rulesets say of the stored facts: judged once each, the active ruleset, and replays of history."""
