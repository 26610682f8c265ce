"""Read logs into a store: find them, recognise them, decode them, and write them in batches."""
