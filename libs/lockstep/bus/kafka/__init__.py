"""The bus on Kafka; with the connectors the only place that imports confluent_kafka."""

from lockstep.bus.kafka.bus import KafkaBus

__all__ = ["KafkaBus"]
