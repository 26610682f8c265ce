"""Judge the stored facts by rulesets, once per ruleset; keep the active ruleset; replay history."""
