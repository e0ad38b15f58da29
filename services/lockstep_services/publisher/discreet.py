"""A sink whose options hold secrets: what it says of errors is without them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from lockstep.events import LockstepError
from lockstep.secrets import Hidden
from lockstep_services.publisher.around import SinkAround
from lockstep_services.publisher.contract import Batch, RowsRefusedError, Sink


class DiscreetSink(SinkAround):
    """Another sink, whose errors go to logs, the status and the error store."""

    def __init__(self, sink: Sink, hidden: Hidden) -> None:
        super().__init__(sink)
        self._hidden = hidden

    async def open(self) -> int:
        with self._discreet():
            return await super().open()

    async def deliver(self, batch: Batch) -> None:
        with self._discreet():
            await super().deliver(batch)

    async def begin_again(self) -> None:
        with self._discreet():
            await super().begin_again()

    async def close(self) -> None:
        with self._discreet():
            await super().close()

    @contextmanager
    def _discreet(self) -> Iterator[None]:
        try:
            yield
        except LockstepError as error:
            self._hidden.error(error)
            if isinstance(error, RowsRefusedError):
                error.refused = tuple(
                    replace(one, reason=self._hidden.text(one.reason)) for one in error.refused
                )
            raise error from None  # what it came from would say it again
