"""The other backend of a store: a Delta lake on shared storage, which DuckDB reads. Loaded by `delta:…` alone."""
