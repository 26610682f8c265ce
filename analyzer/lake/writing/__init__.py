"""Logs into a lake: read by executors, applied batch by batch, committed table by table, the sources last."""
