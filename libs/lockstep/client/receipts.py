"""What the log's word for accepted events is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Receipt:
    """The events of a batch are durable in the app's input log from `first_position` to
    `last_position`. `duplicate`: they were there already, from an earlier try.
    """

    first_position: int
    last_position: int
    duplicate: bool
