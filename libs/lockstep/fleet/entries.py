"""Entries that are made on the way from the log to an executor of this process: their bytes are
written only when somebody asks for them."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from lockstep.events import Position, TickRecord, WriteRecord
from lockstep.events.bundles import Bundle
from lockstep.events.codec import EncodedEntry, encode_bundle, encode_record
from lockstep.events.columns import EventColumns
from lockstep.events.records import InputRecord

Looked = EventColumns | TickRecord | WriteRecord | Bundle
"""What an entry holds, in columns."""


class MadeEntry(EncodedEntry):
    """What stands at a position, as it was made."""

    is_made: ClassVar[bool] = True

    def __init__(self, position: Position, made: Looked) -> None:
        vars(self)["position"] = position
        vars(self)["made"] = made

    @cached_property
    def payload(self) -> bytes:
        """The bytes; those of events are a bundle of their chunks, which says the same."""
        made: Looked = vars(self)["made"]
        if isinstance(made, EventColumns):
            order = np.zeros(len(made.chunk_lengths), np.uint16)
            made = Bundle(made.clock_ms, order, (made,))
        return encode_bundle(made) if isinstance(made, Bundle) else encode_record(made)

    @property
    def is_write(self) -> bool:
        made = vars(self)["made"]
        return isinstance(made, WriteRecord) or (
            isinstance(made, Bundle) and made.write is not None
        )

    def columns(self) -> Looked:
        made: Looked = vars(self)["made"]
        return made

    def record(self) -> InputRecord | Bundle:
        columns = self.columns()
        return columns.to_record() if isinstance(columns, EventColumns) else columns
