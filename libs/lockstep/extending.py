"""What extensions import: all that Lockstep promises to the code of others (EXTENDING.md)."""

from lockstep.aggregators.contract import Aggregator
from lockstep.events import Attribute, AttributeType
from lockstep.operators.contract import CURRENT, EXPIRED, RESET, PlainState, StreamEvent
from lockstep.operators.errors import EventError
from lockstep.siddhiql.catalogue import (
    Argument,
    Delivery,
    Extension,
    ExtensionKind,
    Overload,
    Parameter,
    Promise,
    SignatureError,
    WindowExtension,
)
from lockstep.siddhiql.catalogue.windows import Leaves, Timers
from lockstep.sinks import Message, MessageRefusedError, Sink
from lockstep.sources import Inbox, Place, Received, Source
from lockstep.stream_functions.call import Appending, Buffering, Multiplying, StreamCall
from lockstep.windows.chunks import WindowBase
from lockstep.windows.registry import WindowCall, window

__all__ = [
    "CURRENT",
    "EXPIRED",
    "RESET",
    "Aggregator",
    "Appending",
    "Argument",
    "Attribute",
    "AttributeType",
    "Buffering",
    "Delivery",
    "EventError",
    "Extension",
    "ExtensionKind",
    "Inbox",
    "Leaves",
    "Message",
    "MessageRefusedError",
    "Multiplying",
    "Overload",
    "Parameter",
    "Place",
    "PlainState",
    "Promise",
    "Received",
    "SignatureError",
    "Sink",
    "Source",
    "StreamCall",
    "StreamEvent",
    "Timers",
    "WindowBase",
    "WindowCall",
    "WindowExtension",
    "window",
]
