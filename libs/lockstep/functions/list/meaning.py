"""`list:`. A function that changes a list gives a changed copy.

The events, tables and windows that hold the list keep what they had: only so can a snapshot, which
knows no shared objects, restore what would have been. A null list and wrong positions are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.functions.collected import taking
from lockstep.functions.java_equality import contains, position, same
from lockstep.functions.levels import check_levels
from lockstep.functions.nulls import Factory, Function
from lockstep.operators.contract import Context
from lockstep.operators.errors import EventError
from lockstep.operators.limits import check_size
from lockstep.plan import java
from lockstep.siddhiql.catalogue import Argument

Items = list[Any] | tuple[Any, ...]


def items_of(value: Any, name: str = "list") -> Items:
    """The value as a list, or EventError when it is none."""
    if not isinstance(value, (list, tuple)):
        raise EventError(f"{name}: a list is wanted, not {type(value).__name__}")
    return value


def _at(items: Items, index: Any, end: int) -> int:
    if not isinstance(index, int) or not 0 <= index < end:
        raise EventError(f"list: there is no position {index} in a list of {len(items)}")
    return index


def _create(*values: Any) -> list[Any]:
    for value in values:
        check_levels(value, "list:create", around=1)
    return [] if values == (None,) else list(values)


def _add(items: Any, value: Any, *index: Any) -> list[Any]:
    check_levels(value, "list:add", around=1)
    copy = list(items_of(items))
    if index:
        copy.insert(_at(copy, index[0], len(copy) + 1), value)
    else:
        copy.append(value)
    return copy


def _add_all(items: Any, others: Any, distinct: Any = False) -> list[Any]:
    copy = list(items_of(items))
    for value in items_of(others):
        if distinct is not True or not contains(copy, value):
            copy.append(value)
    check_size(len(copy), "list:addAll")
    return copy


def _get(items: Any, index: Any) -> Any:
    values = items_of(items)
    return values[index] if isinstance(index, int) and 0 <= index < len(values) else None


def _last_index_of(items: Any, value: Any) -> int:
    values = items_of(items)
    at = position(values[::-1], value)
    return -1 if at < 0 else len(values) - 1 - at


def _remove(items: Any, value: Any) -> list[Any]:
    copy = list(items_of(items))
    at = position(copy, value)
    if at >= 0:
        del copy[at]
    return copy


def _remove_by_index(items: Any, index: Any) -> list[Any]:
    copy = list(items_of(items))
    del copy[_at(copy, index, len(copy))]
    return copy


def _remove_all(items: Any, others: Any) -> list[Any]:
    gone = items_of(others)
    return [value for value in items_of(items) if not contains(gone, value)]


def _retain_all(items: Any, others: Any) -> list[Any]:
    kept = items_of(others)
    return [value for value in items_of(items) if contains(kept, value)]


def _set_value(items: Any, index: Any, value: Any) -> list[Any]:
    check_levels(value, "list:setValue", around=1)
    copy = list(items_of(items))
    copy[_at(copy, index, len(copy))] = value
    return copy


def _sort_key(value: Any) -> Any:
    if isinstance(value, str):
        return value.upper().lower()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return java.rank(value)
    raise EventError(f"list:sort sorts texts and numbers, not {type(value).__name__}")


def _sort(arguments: Sequence[Argument], context: Context) -> Function:
    order = str(arguments[1].value).upper() if len(arguments) > 1 else "REV"

    def sort(items: Any, *_order: Any) -> list[Any]:
        copy = list(items_of(items))
        if order != "REV":
            try:
                copy.sort(key=_sort_key)
            except TypeError as error:
                raise EventError("list:sort: the values are of different types") from error
        return copy if order == "ASC" else copy[::-1]

    return sort


def _contains_all(items: Any, others: Any) -> bool:
    values = items_of(items)
    return all(contains(values, value) for value in items_of(others))


def _contains_any(items: Any, others: Any) -> bool:
    values = items_of(items)
    return any(contains(values, value) for value in items_of(others))


def _cleared(items: Any) -> list[Any]:
    items_of(items)
    return []


FUNCTIONS: dict[tuple[str, str], Factory] = {
    ("list", "create"): taking(_create),
    ("list", "add"): taking(_add),
    ("list", "addAll"): taking(_add_all),
    ("list", "clear"): taking(_cleared),
    ("list", "clone"): taking(lambda items: list(items_of(items))),
    ("list", "contains"): taking(lambda items, value: contains(items_of(items), value)),
    ("list", "containsAll"): taking(_contains_all),
    ("list", "containsAny"): taking(_contains_any),
    ("list", "get"): taking(_get),
    ("list", "indexOf"): taking(lambda items, value: position(items_of(items), value)),
    ("list", "lastIndexOf"): taking(_last_index_of),
    ("list", "isEmpty"): taking(lambda items: not items_of(items)),
    ("list", "isList"): taking(lambda value: isinstance(value, (list, tuple))),
    ("list", "remove"): taking(_remove),
    ("list", "removeByIndex"): taking(_remove_by_index),
    ("list", "removeAll"): taking(_remove_all),
    ("list", "retainAll"): taking(_retain_all),
    ("list", "setValue"): taking(_set_value),
    ("list", "size"): taking(lambda items: len(items_of(items))),
    ("list", "sort"): _sort,
}

__all__ = ["FUNCTIONS", "items_of", "same"]
