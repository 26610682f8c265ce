"""Writers and ingests under constant killing; at the end the store is held against what was acknowledged."""
