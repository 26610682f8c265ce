"""Lengths of time, in days, that judgements go by."""

BASELINE_DAYS = 42
"""Days that make a baseline: six of each weekday."""
RECENT_DAYS = 7
"""Days, the last of them the judged one, that are compared with the baseline where one day shows
too little: mixes of reasons, retries, the fleet."""
DRIFT_GAP = 3
"""Least days between the judged day and the baseline of a span: the first days of a drift must not hide the next."""
ACCEPT_DAYS = 28
"""Days after which a level that lasts is the new baseline."""
QUIET_DAYS = 3
"""Days at work without evidence that end an incident: a single good day does not."""
QUIET_RISE_DAYS = 1
"""The same for rises of errors, hand-offs and the like, whose days are judged one by one: the first
normal day ends them."""
TEMPLATE_MEMORY_DAYS = 84
"""Days without a template after which it is new again; with fewer, rare templates would be new each
time."""
TEMPLATE_DAYS = 14
"""Days after its first sight in which a template can be found to be new."""
