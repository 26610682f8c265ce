"""What executors have read into a lake: applied batch by batch, committed table by table, the sources last."""
