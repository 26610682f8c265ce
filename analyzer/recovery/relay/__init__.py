"""Work handed to a fresh instance: when the context is full enough, by which checkpoint, written by whom."""
