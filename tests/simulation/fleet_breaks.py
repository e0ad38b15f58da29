"""What `breaks.py` does, for fleets: each breaks an invariant of units on purpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from lockstep.control import AppView
from lockstep.control.gathering import Gathering
from lockstep.events import Position
from lockstep.events.codec import EncodedEntry
from lockstep.events.outputs import NO_ROWS, RowsOfColumns, joined
from lockstep.execute.contract import EventFault
from lockstep.execute.joining import table_of
from lockstep.execute.undoing import without
from lockstep.fleet import channels
from lockstep.fleet.splitting import _Own
from lockstep.plan.fleet import KEY_GROUPS
from lockstep_services.processor.fold.folding import FoldLoop
from lockstep_services.processor.replica.site import Surroundings
from lockstep_services.processor.revise import inheriting
from lockstep_services.processor.state import engine
from tests.simulation.breaks import Break, put

_ended = inheriting._ended
_to_the_end = FoldLoop._to_the_end
_take = Gathering.take
_order = channels._order
_share = _Own.share


async def _all_but_one(
    around: Surroundings, former: Sequence[AppView]
) -> tuple[Position, list[inheriting.Ended]]:
    position, found = await _ended(around, former)
    return position, found[1:] if len(found) > 1 else found


def _beyond_the_end(self: FoldLoop, entries: Sequence[EncodedEntry]) -> Sequence[EncodedEntry]:
    _to_the_end(self, entries)
    return entries


def _whatever_is_there(
    entries: Sequence[EncodedEntry], channels: Gathering | None
) -> Sequence[EncodedEntry]:
    return entries


def _taken_twice(self: Gathering, up_to: Position) -> list[RowsOfColumns]:
    return [joined([taken, taken]) if taken else NO_ROWS for taken in _take(self, up_to)]


def _backwards(*arguments: Any) -> Any:
    return _order(*arguments)[::-1]


def _without_a_word(*arguments: Any) -> tuple[Sequence[EncodedEntry], list[EventFault]]:
    return without(*arguments)[0], []


def _every_key_group(_unit: Any) -> range:
    return range(KEY_GROUPS)


def _without_rows(self: _Own, path: str, held: Any) -> Any:
    return (0, []) if table_of(path) else _share(self, path, held)


FLEET_BREAKS: Final[dict[str, Break]] = {
    "key-groups": Break(
        "a unit folds the keys of all key groups",
        frozenset({"place"}),
        patched=put(("lockstep.fleet.units.Unit.key_groups", property(_every_key_group))),
        of_fleets=True,
    ),
    "layout-end": Break(
        "a unit folds on behind the end of its layout",
        frozenset({"layout"}),
        patched=put((f"{FoldLoop.__module__}.FoldLoop._to_the_end", _beyond_the_end)),
        of_fleets=True,
    ),
    "marks": Break(
        "a unit does not wait until the units before it have settled",
        frozenset({"missing", "other"}),
        patched=put((f"{FoldLoop.__module__}._complete", _whatever_is_there)),
        of_fleets=True,
    ),
    "channel-twice": Break(
        "rows of a channel are taken twice",
        frozenset({"missing", "other"}),
        patched=put((f"{Gathering.__module__}.Gathering.take", _taken_twice)),
        of_fleets=True,
    ),
    "channel-order": Break(
        "rows of a channel are folded in another order",
        frozenset({"missing", "other", "order"}),
        patched=put((f"{channels.__name__}._order", _backwards)),
        of_fleets=True,
    ),
    "inheritance": Break(
        "a unit of a new layout begins without the last revision of a former one",
        frozenset({"missing", "other"}),
        patched=put((f"{inheriting.__name__}._ended", _all_but_one)),
        of_fleets=True,
    ),
    "letters": Break(
        "what workers die of is set aside without a dead letter",
        frozenset({"missing"}),
        patched=put((f"{engine.__name__}.without", _without_a_word)),
        of_fleets=True,
    ),
    "table-rows": Break(
        "a unit of a new layout begins without the rows of a table that is cut",
        frozenset({"missing", "other"}),
        patched=put((f"{_Own.__module__}._Own.share", _without_rows)),
        of_fleets=True,
    ),
}
