"""A store's rows for other tools: views day by day, slices that are stores, and OpenTelemetry logs."""
