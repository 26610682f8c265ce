"""What detection counts, kept by day: made once for a time zone and a ruleset, and made again for days that changed."""
