"""What a carrier may hold and how long it may take: every limit with its unit in its name."""

from __future__ import annotations

from dataclasses import dataclass

from lockstep.settings import Settings


@dataclass(frozen=True, slots=True)
class BusLimits:
    """Limits of one bus; reaching one is an error or slows the sender; nothing is dropped.

    A log at `max_log_bytes` refuses (LogFullError). Input logs and dead letters forget what is
    older than `max_log_age_ms`; output logs never do, as their last record is the tail. Where there
    is an archive input logs do not either (`input_logs_age`): what it has not got stays.
    """

    max_message_bytes: int = 1_000_000
    max_log_bytes: int = 2_147_483_648
    max_log_age_ms: int = 604_800_000
    input_logs_age: bool = True
    dead_letters_max_bytes: int = 268_435_456
    ingress_max_bytes: int = 268_435_456
    ingress_redelivery_ms: int = 30_000
    ingress_max_unacknowledged: int = 4_096
    dedup_window_ms: int = 120_000
    max_pending_publishes: int = 256
    max_pending_bytes: int = 2_000_000
    connect_timeout_ms: int = 5_000
    tcp_user_timeout_ms: int = 500
    publish_timeout_ms: int = 10_000
    subscription_queue_messages: int = 16_384
    max_concurrent_responses: int = 64
    quiet_after_ms: int = 5_000
    read_ahead_bytes: int = 4_194_304
    readers_per_log: int = 4
    replicas: int = 1

    @classmethod
    def of(cls, settings: Settings) -> BusLimits:
        """As the settings say."""
        bus = settings.bus
        return cls(
            max_message_bytes=bus.max_message_bytes,
            max_log_bytes=bus.max_log_bytes,
            max_log_age_ms=bus.max_log_age_ms,
            input_logs_age=not settings.archive.folder,
            dead_letters_max_bytes=bus.dead_letters_max_bytes,
            dedup_window_ms=settings.receiver.dedup_window_ms,
            max_pending_publishes=bus.max_pending_publishes,
            connect_timeout_ms=bus.connect_timeout_ms,
            tcp_user_timeout_ms=bus.tcp_user_timeout_ms,
            publish_timeout_ms=bus.publish_timeout_ms,
            quiet_after_ms=bus.quiet_after_ms,
            read_ahead_bytes=bus.read_ahead_bytes,
            readers_per_log=bus.readers_per_log,
            replicas=bus.replicas,
        )


def nearly_full_bytes(limit_bytes: int, record_bytes: int) -> int:
    """From there on a log of that limit has a quarter of it left at most, or no room for one more
    record of that size."""
    return max(1, min(limit_bytes - record_bytes, limit_bytes // 4 * 3))
