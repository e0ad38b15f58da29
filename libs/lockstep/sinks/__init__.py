"""Sinks of your own: what the publisher hands to a sink, and what a sink answers.

A type of sink is declared to the checker (`EXTENSIONS`, kind SINK, with its options) and made by
what stands under its name in `SINKS` of the same module; see EXTENDING.md.
"""

from lockstep.sinks.contract import Message, MessageRefusedError, Sink, SinkMaker
from lockstep.sinks.headers import headers_filled, headers_of, lost_part

__all__ = [
    "Message",
    "MessageRefusedError",
    "Sink",
    "SinkMaker",
    "headers_filled",
    "headers_of",
    "lost_part",
]
