"""What the leader of an app answers on the bus: on-demand queries and operators' commands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from lockstep.bus import Subscription
from lockstep.events import Fault, LockstepError
from lockstep.frame import (
    Command,
    CommandAnswer,
    OnDemandAnswer,
    OnDemandQuestion,
    command_subject,
    question_subject,
)
from lockstep.siddhiql import SiddhiQLError, ast, check_on_demand
from services.processor.replica import Replica

Carry = Callable[[Command], Awaitable[CommandAnswer]]


class Answers:
    """Open while this replica leads."""

    def __init__(self, replica: Replica, carry_out: Carry) -> None:
        self._replica = replica
        self._carry_out = carry_out
        self._open: list[Subscription] = []

    async def open(self) -> None:
        """Answers from now on."""
        topics, app = self._replica.around.world.bus.topics, self._replica.name.app
        self._open = [
            await topics.respond(question_subject(app), self._question),
            await topics.respond(command_subject(app), self._command),
        ]

    async def close(self) -> None:
        """Answers no more; idempotent."""
        closing, self._open = self._open, []
        for subscription in closing:
            await subscription.close()

    async def _question(self, payload: bytes) -> bytes:
        question = msgspec.json.decode(payload, type=OnDemandQuestion)
        return msgspec.json.encode(await self.answer(question.query), enc_hook=str)

    async def answer(self, query: str) -> OnDemandAnswer:
        """An on-demand query's rows and columns, or what is wrong with it."""
        engine = self._replica.engine
        try:
            checked = check_on_demand(query, engine.plan.checked)
            if not isinstance(checked.query.action, ast.ReturnEvents | None):
                return OnDemandAnswer(
                    error="on-demand queries that change a table are not possible in a cluster",
                    hint="send an event to a stream whose query changes the table",
                    user_error=True,
                )
            position, rows = await engine.on_demand(query)
        except SiddhiQLError as error:
            return OnDemandAnswer(
                error=error.message, hint=error.hint, user_error=True,
                line=error.line, column=error.column,
            )  # fmt: skip
        except LockstepError as error:
            return OnDemandAnswer(error=str(error), user_error=error.fault is Fault.USER)
        columns = [(one.name, str(one.type)) for one in checked.output.attributes]
        return OnDemandAnswer(rows=[list(row) for row in rows], columns=columns, position=position)

    async def _command(self, payload: bytes) -> bytes:
        command = msgspec.json.decode(payload, type=Command)
        try:
            answer = await self._carry_out(command)
        except LockstepError as error:
            answer = CommandAnswer(False, str(error))
        return msgspec.json.encode(answer)
