"""Which receiver is asked next: the three ways to use several of them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from urllib.parse import urlsplit

from lockstep.client.limits import LimitError


class Mode(StrEnum):
    """How several receivers are used; each event is once in the app in all of them."""

    ANY = "any"
    """Active-active: the batches go round, past receivers that fail."""
    FAILOVER = "failover"
    """One receiver as long as it works, then the next."""
    ALL = "all"
    """Full-active-active: every batch to every receiver; the first to accept it makes it
    durable."""


class Doors:
    """The receivers' addresses and when each failed last."""

    def __init__(self, urls: Sequence[str], mode: Mode, *, avoid_failed_ms: int) -> None:
        if isinstance(urls, str):
            raise LimitError(f"expected a list of receivers, got one text: write [{urls!r}]")
        self.urls = tuple(_checked(url) for url in urls)
        if not self.urls:
            raise LimitError("no receiver: expected at least one address")
        self._mode = mode
        self._avoid_failed_ms = avoid_failed_ms
        self._first = 0
        self._failed_at_ms: dict[str, int] = {}

    def order(self, now_ms: int) -> list[str]:
        """The receivers in the order in which to try them now; those that failed lately last."""
        turned = [*self.urls[self._first :], *self.urls[: self._first]]
        if self._mode is Mode.ANY:
            self._first = (self._first + 1) % len(self.urls)
        return sorted(turned, key=lambda url: self._is_avoided(url, now_ms))

    def failed(self, url: str, now_ms: int) -> None:
        """It could not be reached, or did not answer."""
        self._failed_at_ms[url] = now_ms

    def worked(self, url: str) -> None:
        """It has accepted: the one to stay with, in `failover`."""
        self._failed_at_ms.pop(url, None)
        if self._mode is Mode.FAILOVER:
            self._first = self.urls.index(url)

    def _is_avoided(self, url: str, now_ms: int) -> bool:
        failed_ms = self._failed_at_ms.get(url)
        return failed_ms is not None and now_ms - failed_ms < self._avoid_failed_ms


def _checked(url: str) -> str:
    """An address that can work; one that cannot is told at once, not after all retries."""
    try:
        parts = urlsplit(url)
        is_right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        is_right = is_right and "\\" not in url and bool((parts.hostname or "").encode("idna"))
    except ValueError:  # as no host can be named so
        is_right = False
    if not is_right:
        raise LimitError(f"{url!r} is no receiver's address: write http://host:port")
    return url.rstrip("/")
