"""What a clock and a source of randomness promise to those who are handed one."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Clock(Protocol):
    """Time in whole milliseconds; the two readings are never mixed."""

    def now_ms(self) -> int:
        """Milliseconds since 1970-01-01 UTC. May jump: for time stamps, never for durations."""

    def monotonic_ms(self) -> int:
        """Milliseconds since some fixed moment. Never runs back: for durations and deadlines."""

    async def sleep_ms(self, duration_ms: int) -> None:
        """Returns once `duration_ms` have passed on this clock; zero or less yields once."""


@runtime_checkable
class Randomness(Protocol):
    """Where identifiers, jitter and secrets come from."""

    def uuid_hex(self) -> str:
        """A version 4 UUID as 32 lower-case hex digits."""

    def fraction(self) -> float:
        """A float in [0.0, 1.0)."""

    def secret(self) -> str:
        """43 characters safe in URLs and configuration files, 256 bits of entropy."""
