"""Ad-hoc SQL runs in a process of its own: one side starts and bounds it, the other one answers."""
