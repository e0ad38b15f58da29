"""What a body or a PATCH of SCIM (RFC 7644, 3.5.2) makes of a user's or group's attributes. Pure.

Attributes that nobody keeps here (addresses, telephone numbers, extensions) are passed over, as the
RFC allows: identity providers send many. Names are read in any case, `op` and booleans too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from lockstep_services.coordinator.scim.errors import ScimError
from lockstep_services.coordinator.scim.filters import matches, parsed, plain_name

MAX_OPERATIONS: Final = 1_000
READ_ONLY: Final = frozenset({"id", "meta", "groups", "schemas"})
_PATH: Final = re.compile(r"(?P<name>[A-Za-z$][\w.:$-]*)(?:\[(?P<filter>.*)\](?:\.[\w$-]+)?)?")
_MEMBERS: Final = "members"


@dataclass(frozen=True, slots=True)
class Shape:
    """What is kept of a kind of resource; names in lower case. `required` cannot be removed."""

    texts: frozenset[str]
    required: str
    flags: frozenset[str] = frozenset()
    has_members: bool = False


USER: Final = Shape(
    frozenset({"username", "externalid", "displayname", "password"}),
    "username", frozenset({"active"}),
)  # fmt: skip
GROUP: Final = Shape(frozenset({"displayname", "externalid"}), "displayname", has_members=True)
Value = str | bool | frozenset[str]
Attributes = Mapping[str, Value]


class Operation(msgspec.Struct):
    """One change."""

    op: str
    path: str | None = None
    value: Any = None


def written(body: Any, shape: Shape) -> dict[str, Value]:
    """What a whole resource says. ScimError."""
    found = _spread({}, body, shape, adds=False)
    if not found.get(shape.required):
        raise ScimError("invalidValue", f"a value for {shape.required} is missing")
    return found


def patched(before: Attributes, operations: Sequence[Operation], shape: Shape) -> dict[str, Value]:
    """One after the other. ScimError, and then nothing is changed."""
    if not 0 < len(operations) <= MAX_OPERATIONS:
        raise ScimError("invalidSyntax", f"a PATCH has 1 to {MAX_OPERATIONS} operations")
    after = dict(before)
    for each in operations:
        op = each.op.lower()
        if op not in ("add", "replace", "remove"):
            raise ScimError("invalidSyntax", f"there is no operation '{each.op[:40]}'")
        if each.path:
            after = _at_path(after, op, each, shape)
        elif op == "remove":
            raise ScimError("noTarget", "an operation 'remove' needs a path")
        else:
            after = _spread(after, each.value, shape, adds=op == "add")
    return after


def _spread(before: Attributes, value: Any, shape: Shape, *, adds: bool) -> dict[str, Value]:
    """Each key is an attribute; a dotted one is a part of one."""
    if not isinstance(value, dict):
        raise ScimError("invalidValue", "without a path the value has to be an object")
    after = dict(before)
    for name, one in value.items():
        known = plain_name(name)
        if _is_kept(known, shape):
            after = _given(after, known, one, shape, adds=adds)
    return after


def _at_path(before: Attributes, op: str, each: Operation, shape: Shape) -> dict[str, Value]:
    path = _PATH.fullmatch(each.path or "")
    if path is None:
        raise ScimError("invalidPath", f"this is no path: '{(each.path or '')[:80]}'")
    name = plain_name(path["name"])
    if name in READ_ONLY:
        raise ScimError("mutability", f"{name} cannot be changed")
    if not _is_kept(name, shape):
        return dict(before)
    if path["filter"] is not None:
        return _selected(before, op, name, path["filter"])
    if op == "remove":
        return _removed(before, name, each.value, shape)
    return _given(before, name, each.value, shape, adds=op == "add")


def _is_kept(name: str, shape: Shape) -> bool:
    return name in shape.texts | shape.flags or (shape.has_members and name == _MEMBERS)


def _given(
    before: Attributes, name: str, value: Any, shape: Shape, *, adds: bool
) -> dict[str, Value]:
    if value is None:
        return _removed(before, name, None, shape)
    if name == _MEMBERS:
        there = _members_of(before) if adds else frozenset()
        return {**before, name: there | _members(value)}
    value = _single(value)
    if name in shape.flags:
        return {**before, name: _flag(name, value)}
    if not isinstance(value, str):
        raise ScimError("invalidValue", f"{name} is a text")
    if name == shape.required and not value:
        raise ScimError("invalidValue", f"{name} cannot be empty")
    return {**before, name: value}


def _removed(before: Attributes, name: str, value: Any, shape: Shape) -> dict[str, Value]:
    """Entra names the members that go in the value, without a filter in the path."""
    if name == shape.required or name in shape.flags:
        raise ScimError("mutability", f"{name} cannot be removed")
    if name == _MEMBERS:
        gone = _members_of(before) if value is None else _members(value)
        return {**before, name: _members_of(before) - gone}
    return {**before, name: ""}


def _selected(before: Attributes, op: str, name: str, text: str) -> dict[str, Value]:
    """`members[value eq "x"]`."""
    if name != _MEMBERS or op != "remove":
        raise ScimError("invalidPath", "a filter in a path is for removing members")
    chosen = parsed(text, {"value"})
    there = _members_of(before)
    return {
        **before,
        name: frozenset(one for one in there if not matches(chosen, {"value": {one}})),
    }


def _members_of(before: Attributes) -> frozenset[str]:
    found = before.get(_MEMBERS)
    return found if isinstance(found, frozenset) else frozenset()


def _members(value: Any) -> frozenset[str]:
    given = value if isinstance(value, list) else [value]
    found = [one.get("value") if isinstance(one, dict) else None for one in given]
    ids = frozenset(one for one in found if isinstance(one, str))
    if not all(isinstance(one, str) for one in found):
        raise ScimError("invalidValue", "members are objects, each with the id of a user as value")
    return ids


def _single(value: Any) -> Any:
    """Older releases of Entra wrap single values."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        return value[0].get("value")
    return value


def _flag(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise ScimError("invalidValue", f"{name} is true or false")
