"""Sends events to a running suite from asyncio programs: batched, retried, each once in the app.

`EventClient` is all that programs need; see DESIGN.md beside this file for what it promises.
"""

from lockstep.client.client import EventClient
from lockstep.client.doors import Mode
from lockstep.client.errors import (
    EventRefusedError,
    HeaderError,
    NotAcceptedError,
    UndeliveredError,
)
from lockstep.client.limits import Limits
from lockstep.client.receipts import Receipt

__all__ = [
    "EventClient",
    "EventRefusedError",
    "HeaderError",
    "Limits",
    "Mode",
    "NotAcceptedError",
    "Receipt",
    "UndeliveredError",
]
