"""Sinks of a text that takes the place of another: which go on, and which there are no more."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

from lockstep.control import (
    HeartbeatWatch,
    UnclearSinksError,
    is_in_order,
    numbers_after,
    taken_out,
)
from lockstep.frame import Offload, Problem
from lockstep.plan import AppPlan, Plans
from lockstep.siddhiql import SiddhiQLError
from lockstep.store import NO_NUMBERS, Deployment, SinkNumbers

RETRY_AFTER_MS: Final = 10_000


class Sinks:
    """Of all apps."""

    def __init__(self, offload: Offload, plans: Plans, watch: HeartbeatWatch) -> None:
        self._watch = watch
        self._offload = offload
        self._plans = plans

    async def numbers(
        self,
        before: Deployment | None,
        text: str,
        *,
        refuses: bool = True,
        is_there: bool = True,
    ) -> SinkNumbers:
        """In a text, behind what is deployed, or was under its name (`is_there`: it is).
        UnclearSinksError, Problem 503, where that may be refused."""
        if before is None:
            return NO_NUMBERS
        # Another text behind a fleet that was undeployed has new logs: all its cursors begin anew.
        unclear = refuses and (is_there or not before.layout)

        def found() -> SinkNumbers:
            new = self._plan(text)
            if new is None:
                return before.sinks
            return numbers_after(before.sinks, self._plan(before.text), new, refuses=unclear)

        try:
            numbers = await self._offload.run(found)
        except UnclearSinksError as error:
            if not is_there:
                error.hint = f"{error.hint}, or purge the undeployed app"
            raise
        if refuses and not is_in_order(numbers):
            self._refuse_beside_earlier_releases()
        return numbers

    def _refuse_beside_earlier_releases(self) -> None:
        """Their publishers would go on from the cursors of other sinks."""
        earlier = [one.node for one in self._watch.alive("publisher") if not one.knows_numbers]
        if earlier:
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "sinks change their places, which publishers of an earlier release do not know of:"
                f" {', '.join(earlier)}",
                hint="deploy it when all publishers are updated",
                retry_after_ms=RETRY_AFTER_MS,
            )

    async def taken_out(self, before: Deployment, text: str) -> Sequence[str]:
        """The names of those that the text has no more. UnclearSinksError, Problem 503."""
        after = await self.numbers(before, text)

        def found() -> Sequence[str]:
            old, new = self._plan(before.text), self._plan(text)
            if old is None or new is None:
                return ()
            return taken_out(before.sinks, old, after, new)

        return await self._offload.run(found)

    def _plan(self, text: str) -> AppPlan | None:
        """None of a text that an earlier release took, and this one does not."""
        try:
            return self._plans.of(text)
        except SiddhiQLError:
            return None
