"""How the suite's parts reach each other: logs, dead letters, ingress, topics; any carrier."""

from lockstep.bus.contract import (
    Accepted,
    Appended,
    Bus,
    DeadLetter,
    DeadLetters,
    EncodedEntry,
    Ingress,
    IngressMessage,
    InputLog,
    LogName,
    OutputEntry,
    OutputLog,
    OutputTail,
    Refused,
    StoredDeadLetter,
    Subscription,
    Topics,
)
from lockstep.bus.errors import (
    LogFullError,
    NoRoomError,
    RecordTooLargeError,
)
from lockstep.bus.limits import BusLimits
from lockstep.bus.opening import open_bus
from lockstep.bus.subjects import (
    InvalidNameError,
    control_subject,
    dead_subject,
    ingress_subject,
    input_subject,
    output_subject,
    presenter_subject,
)

__all__ = [
    "Accepted",
    "Appended",
    "Bus",
    "BusLimits",
    "DeadLetter",
    "DeadLetters",
    "EncodedEntry",
    "Ingress",
    "IngressMessage",
    "InputLog",
    "InvalidNameError",
    "LogFullError",
    "LogName",
    "NoRoomError",
    "OutputEntry",
    "OutputLog",
    "OutputTail",
    "RecordTooLargeError",
    "Refused",
    "StoredDeadLetter",
    "Subscription",
    "Topics",
    "control_subject",
    "dead_subject",
    "ingress_subject",
    "input_subject",
    "open_bus",
    "output_subject",
    "presenter_subject",
]
