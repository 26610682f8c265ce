"""Readers of telemetry about calls: OpenTelemetry, payloads of gateways, exports of platforms."""
