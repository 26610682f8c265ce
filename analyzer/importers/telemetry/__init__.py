"""Readers of what is sent of each call to whoever watches: OpenTelemetry, and the payloads of gateways."""
