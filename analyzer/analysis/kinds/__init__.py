"""What there is to say about each kind of finding: one row of one table, and the functions that the rows name."""
