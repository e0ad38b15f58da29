"""What happened, in order, for whoever has to understand a failing seed."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final

import structlog

from lockstep.events import LockstepError
from tests.simulation.loop import HOST, VirtualLoop

QUIET: Final = frozenset({"node", "part", "level", "group", "partition", "app", "exc_info"})


@dataclass(frozen=True)
class Moment:
    """One line of a story."""

    at_ms: int
    who: str
    what: str

    def __str__(self) -> str:
        return f"{self.at_ms:>7} ms  {self.who:<14} {self.what}"


@dataclass
class Story:
    """Faults, and what the services said about themselves."""

    loop: VirtualLoop
    moments: list[Moment] = field(default_factory=list)
    surprises: list[Moment] = field(default_factory=list)

    def tell(self, who: str, what: str) -> None:
        """It happened now."""
        self.moments.append(Moment(self.loop.now_ms, who, what))

    def hear(
        self, _logger: object, _method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        """A log line of a service."""
        host = HOST.get()
        more = " ".join(f"{k}={v}" for k, v in event.items() if k not in QUIET and k != "event")
        who = "?" if host is None else host.name
        self.tell(who, f"{event.get('event')} {more}".strip())
        if event.get("exc_info"):
            error = sys.exc_info()[1]
            if not isinstance(error, LockstepError):
                self.surprises.append(Moment(self.loop.now_ms, who, _told(error)))
        raise structlog.DropEvent

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Hears every service's log meanwhile."""
        before = structlog.get_config()
        structlog.configure(
            processors=[self.hear],
            wrapper_class=structlog.make_filtering_bound_logger(20),
            logger_factory=structlog.ReturnLoggerFactory(),
            cache_logger_on_first_use=False,
        )
        try:
            yield
        finally:
            structlog.configure(**before)


def _told(error: BaseException | None) -> str:
    """What it is and where it comes from."""
    if error is None:
        return "an error without a name"
    at = traceback.extract_tb(error.__traceback__)[-3:]
    places = " < ".join(f"{one.filename.rpartition('/')[2]}:{one.lineno}" for one in at[::-1])
    return f"{type(error).__name__}: {error} ({places})"
