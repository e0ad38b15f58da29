"""How long a publisher waits before it tries again. Pure."""

from __future__ import annotations

from lockstep.settings import PublisherSettings


def retry_pause_ms(settings: PublisherSettings, attempt: int) -> int:
    """Behind so many attempts that failed, the first of them 1."""
    grown: int = settings.retry_backoff_ms * 2 ** min(attempt - 1, 20)
    return min(grown, settings.retry_backoff_max_ms)
