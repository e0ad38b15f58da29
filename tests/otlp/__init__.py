"""A receiver of OTLP over HTTP, built on OpenTelemetry's own messages, for tests of traces."""
