"""What `output snapshot` asks of a window of which what came and has not left is not what is inside
(semantics 14.3)."""

from __future__ import annotations

from dataclasses import dataclass

from lockstep.siddhiql.catalogue.windows import WindowExtension


@dataclass(frozen=True)
class ShownWindow(WindowExtension):
    """A window that says so; of others nothing of this holds.

    `passes_on`: what comes out of it is not inside any more, and never expires. `leaves_early`: the
    expired copy of an event may stand directly in front of its current one. `latest_of_key`: inside
    is the latest event of each key, but those before it do not expire. A key are the attributes
    among the arguments; without any, all that there are.
    """

    passes_on: bool = False
    leaves_early: bool = False
    latest_of_key: bool = False
