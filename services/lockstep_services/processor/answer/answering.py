"""What the leader of an app answers on the bus: on-demand queries and operators' commands."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import msgspec

from lockstep.bus import Subscription
from lockstep.control import (
    Command,
    CommandAnswer,
    OnDemandAnswer,
    OnDemandQuestion,
    command_subject,
    question_subject,
    refusal_of,
)
from lockstep.events import Fault, LockstepError
from lockstep.events.typed import from_json
from lockstep.siddhiql import CheckedOnDemand, check_on_demand
from lockstep_services.processor.answer.writing import Writes
from lockstep_services.processor.replica.running import Running
from lockstep_services.processor.replica.site import Site

Carry = Callable[[Command], Awaitable[CommandAnswer]]


class AnswerTooLargeError(LockstepError):
    """More rows were found than one message of the bus takes."""

    fault = Fault.USER

    def __init__(self, rows: int, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(
            f"the answer of {rows} rows has {size_bytes} bytes; the bus takes {limit_bytes}",
            hint="select fewer attributes, narrow it down with a condition, or ask in parts: "
            "order by … limit … offset …",
        )


class Answers:
    """Open while this replica leads."""

    def __init__(self, site: Site, running: Running, writes: Writes, carry_out: Carry) -> None:
        self._site = site
        self._running = running
        self._writes = writes
        self._carry_out = carry_out
        self._open: list[Subscription] = []
        self._turn = asyncio.Lock()
        self._under_way: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Answers from now on."""
        await self._to_its_end(self._subscribe())

    async def close(self) -> None:
        """Answers no more; idempotent."""
        await self._to_its_end(self._unsubscribe())

    async def _to_its_end(self, work: Coroutine[Any, Any, None]) -> None:
        """Goes on when the caller is cancelled, one after the other: a subscription that nobody
        knows of would answer in the name of a replica that is gone."""
        task = asyncio.ensure_future(self._in_turn(work))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        await asyncio.shield(task)

    async def _in_turn(self, work: Coroutine[Any, Any, None]) -> None:
        async with self._turn:
            await work

    async def _subscribe(self) -> None:
        topics, unit = self._site.world.bus.topics, self._site.unit
        # One by one: when the second cannot be had, `close` knows of the first.
        self._open.append(await topics.respond(question_subject(unit), self._question))
        self._open.append(await topics.respond(command_subject(unit), self._command))

    async def _unsubscribe(self) -> None:
        while self._open:
            await self._open[-1].close()
            self._open.pop()

    async def _question(self, payload: bytes) -> bytes:
        question = from_json(payload, OnDemandQuestion)
        found = await self.answer(question)
        answer = msgspec.json.encode(found, enc_hook=str)
        limit_bytes = self._site.world.bus.topics.max_answer_bytes
        if len(answer) <= limit_bytes:
            return answer
        rows = len(found.rows)
        return msgspec.json.encode(refusal_of(AnswerTooLargeError(rows, len(answer), limit_bytes)))

    async def answer(self, question: OnDemandQuestion) -> OnDemandAnswer:
        """Rows and columns of what was read, the number of rows written, or what is wrong."""
        try:
            checked = check_on_demand(question.query, self._running.engine.plan.checked)
            if checked.is_write:
                return await self._written(question)
            return await self._found(checked, question.query)
        except LockstepError as error:
            return refusal_of(error)

    async def _found(self, checked: CheckedOnDemand, query: str) -> OnDemandAnswer:
        position, rows = await self._running.engine.on_demand(query)
        columns = [(one.name, str(one.type)) for one in checked.output.attributes]
        return OnDemandAnswer(rows=[list(row) for row in rows], columns=columns, position=position)

    async def _written(self, question: OnDemandQuestion) -> OnDemandAnswer:
        request_id = question.request_id or self._site.randomness.uuid_hex()
        outcome = await self._writes.write(question.query, request_id)
        problem = outcome.problem
        if problem is None:
            return OnDemandAnswer(position=outcome.position, rows_changed=outcome.rows_changed)
        return OnDemandAnswer(
            position=outcome.position, rows_changed=outcome.rows_changed, user_error=True,
            error=problem.message, hint=problem.hint, line=problem.line, column=problem.column,
        )  # fmt: skip

    async def _command(self, payload: bytes) -> bytes:
        command = from_json(payload, Command)
        try:
            answer = await self._carry_out(command)
        except LockstepError as error:
            answer = CommandAnswer.of_error(error)
        return msgspec.json.encode(answer)
