"""The commands: each reads its arguments, calls what is below, and hands the result to `report`."""
