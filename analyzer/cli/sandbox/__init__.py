"""Ad-hoc SQL in a process of its own: the side that starts it and bounds it, and the side that answers."""
