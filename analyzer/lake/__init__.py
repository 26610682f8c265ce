"""The second engine of the store: Apache Spark over a Delta lake on shared storage. Loaded by `delta:…` alone."""
