"""What the bus server does not let our user do: told in the log, and to whoever waits for it.

A server says so while the connection goes on: of a message that it has not taken, and of a
subscription that it has dropped. Nobody makes such a subscription again when the right comes back,
so it is asked for again here, alone, until it is granted.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import nats.errors
from nats.aio.client import Client
from nats.aio.subscription import Subscription

from lockstep.bus.nats.answers import Answers
from lockstep.bus.nats.errors import NotAllowedError
from lockstep.bus.nats.troubles import Troubles
from lockstep.telemetry import get_logger

_FIRST_PAUSE_S: Final = 0.25
_MAX_PAUSE_S: Final = 5.0
_ANSWER_TIMEOUT_S: Final = 2
_VIOLATION: Final = re.compile(
    r"nats: permissions violation for (publish to|publish with reply of|subscription to)"
    r' "((?:[^"\\]|\\.)*)"(?:.*\(sid "(\d+)"\))?',
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Violation:
    """`subject` in small letters, as the client library gives it. `sid`: of the subscription, where
    the server names it."""

    subject: str
    of_subscription: bool
    sid: int | None


def violation_in(error: Exception) -> Violation | None:
    """What a server complains of, if it is a right that is missing."""
    found = _VIOLATION.match(str(error))
    if found is None:
        return None
    what, subject, sid = found.groups()
    return Violation(
        re.sub(r"\\(.)", r"\1", subject).casefold(),
        what.casefold().startswith("subscription"),
        None if sid is None else int(sid),
    )


class Rights:
    """Of one connection. `regained`: called when subscriptions stand again, which have missed what
    was sent meanwhile."""

    def __init__(
        self,
        troubles: Troubles,
        answers: Answers,
        client: Callable[[], Client],
        regained: Callable[[], None],
    ) -> None:
        self._troubles = troubles
        self._answers = answers
        self._client = client
        self._regained = regained
        self._refused: dict[int, int] = {}  # how often, by the number of the subscription
        self._asking: asyncio.Task[None] | None = None
        self._is_closed = False

    def heard(self, error: Exception, now_s: float) -> None:
        """Something that the server complains of, perhaps of a right."""
        violation = violation_in(error)
        if violation is None or self._is_closed:
            return
        if violation.of_subscription:
            missing = self._dropped(violation)
        else:
            missing = self._answers.refused(
                violation.subject, lambda subject: self._troubles.not_allowed("publish", subject)
            ) or self._troubles.not_allowed("publish", violation.subject)
        self._troubles.lacks(missing, now_s)

    def check(self, subscription: Subscription | None) -> None:
        """NotAllowedError if the server has dropped it."""
        if subscription is not None and subscription._id in self._refused:
            raise self._troubles.not_allowed("subscribe", subscription._subject)

    def forget(self) -> None:
        """There is a new client, without subscriptions yet."""
        self._refused.clear()
        self._answers.refusal = None

    def close(self) -> None:
        """Nothing is asked for any more."""
        self._is_closed = True
        if self._asking is not None:
            self._asking.cancel()

    def _dropped(self, violation: Violation) -> NotAllowedError:
        subject = violation.subject
        for sid, each in self._client()._subs.items():
            # Servers do not always name the subscription.
            is_same = each._subject.casefold() == violation.subject
            if is_same if violation.sid is None else sid == violation.sid:
                subject = each._subject
                self._refused[sid] = self._refused.get(sid, 0) + 1
        if violation.subject == self._answers.pattern.casefold():
            # No answer can come: whoever waits for one, or would, is told.
            subject = self._answers.pattern
            self._answers.refusal = lambda: self._troubles.not_allowed("subscribe", subject)
            self._answers.lost(self._answers.refusal)
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().create_task(self._ask_again())
        return self._troubles.not_allowed("subscribe", subject)

    async def _ask_again(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while self._refused:
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _MAX_PAUSE_S)
            client = self._client()
            wanted = [each for sid, each in client._subs.items() if sid in self._refused]
            # Of the others somebody has let go meanwhile.
            self._refused = {each._id: self._refused[each._id] for each in wanted}
            before = dict(self._refused)
            if not client.is_connected:
                continue
            with contextlib.suppress(nats.errors.Error, OSError, asyncio.TimeoutError):
                for each in wanted:
                    if each._id in client._subs:
                        await client._send_subscribe(each)
                # The library's ping overtakes what it has not written yet.
                await client._flush_pending(force_flush=True)
                # What the server complains of comes before its answer to this.
                await client.flush(timeout=_ANSWER_TIMEOUT_S)
                if client is self._client():
                    self._granted(wanted, before)

    def _granted(self, wanted: Sequence[Subscription], before: Mapping[int, int]) -> None:
        """Those that the server has not complained of again."""
        back: list[str] = []
        for each in wanted:
            if self._refused.get(each._id) == before[each._id]:
                del self._refused[each._id]
                back.append(each._subject)
        if self._answers.pattern in back:
            self._answers.refusal = None
        if back:
            get_logger().info("the bus lets us listen again", subject=back[0], subjects=len(back))
            self._regained()
