"""Users and groups of Lockstep as resources of SCIM, and what becomes of the accounts when an
identity provider changes them. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from lockstep.rights.accounts import (
    Change,
    Directory,
    Group,
    Kept,
    User,
    entries_of,
    gone_with,
    group_gone_with,
    named,
)
from lockstep_services.coordinator.scim.errors import ScimError
from lockstep_services.coordinator.scim.filters import Facts
from lockstep_services.coordinator.scim.patches import Attributes

USER_SCHEMA: Final = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP_SCHEMA: Final = "urn:ietf:params:scim:schemas:core:2.0:Group"
USER_FACTS: Final = frozenset({"id", "externalid", "username", "displayname", "active"})
GROUP_FACTS: Final = frozenset({"id", "externalid", "displayname", "members", "members.value"})
MAX_NAME: Final = 100
MAX_TEXT: Final = 256
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_.@+-]+")


@dataclass(frozen=True, slots=True)
class Saved:
    """A change, and what is there after it."""

    change: Change
    one: User | Group


def shown(group: Group) -> str:
    """What SCIM calls a group's `displayName`."""
    return group.display_name or group.name


def user_of(directory: Directory, given: str) -> User:
    """By its id. ScimError 404."""
    found = _by_id(directory.users, given)
    if found is None:
        raise _gone(f"there is no user with the id '{given[:100]}'")
    return found


def group_of(directory: Directory, given: str) -> Group:
    """By its id. ScimError 404."""
    found = _by_id(directory.groups, given)
    if found is None:
        raise _gone(f"there is no group with the id '{given[:100]}'")
    return found


def _by_id(things: Mapping[str, Kept], given: str) -> Kept | None:
    return next((one for one in things.values() if one.id == given), None)


def members_by_group(directory: Directory) -> Mapping[str, Sequence[User]]:
    """Of all groups in one go, by name."""
    found: dict[str, list[User]] = {}
    for one in sorted(directory.users.values(), key=lambda user: user.name):
        for group in one.groups:
            found.setdefault(group, []).append(one)
    return found


def members_of(directory: Directory, group: Group) -> Sequence[User]:
    """By name."""
    users = [one for one in directory.users.values() if group.name in one.groups]
    return sorted(users, key=lambda one: one.name)


def user_facts(user: User) -> Facts:
    """For filters."""
    return {
        "id": {user.id},
        "externalid": {user.external_id} - {""},
        "username": {user.name},
        "displayname": {user.display_name} - {""},
        "active": {str(user.active).lower()},
    }


def group_facts(group: Group, users: Sequence[User]) -> Facts:
    """For filters; with the members, if they are asked about."""
    members = {one.id for one in users}
    return {
        "id": {group.id},
        "externalid": {group.external_id} - {""},
        "displayname": {shown(group)},
        "members": members,
        "members.value": members,
    }


def user_attributes(user: User) -> Attributes:
    """For a PATCH."""
    return {
        "username": user.name,
        "externalid": user.external_id,
        "displayname": user.display_name,
        "active": user.active,
    }


def group_attributes(directory: Directory, group: Group) -> Attributes:
    """For a PATCH."""
    return {
        "displayname": shown(group),
        "externalid": group.external_id,
        "members": frozenset(one.id for one in members_of(directory, group)),
    }


def user_body(directory: Directory, user: User, base: str) -> dict[str, Any]:
    """As it is answered; `base` is the address in front of /Users."""
    found = [directory.groups[name] for name in sorted(user.groups) if name in directory.groups]
    created = datetime.fromtimestamp(user.created_ms / 1000, UTC).isoformat(timespec="milliseconds")
    place = f"{base}/Users/{quote(user.id, safe='')}"
    optional = {"externalId": user.external_id, "displayName": user.display_name}
    return {
        "schemas": [USER_SCHEMA],
        "id": user.id,
        "userName": user.name,
        "active": user.active,
        **{name: value for name, value in optional.items() if value},
        "groups": [{"value": one.id, "display": shown(one)} for one in found],
        "meta": {"resourceType": "User", "created": created, "location": place},
    }


def group_body(group: Group, users: Sequence[User], base: str) -> dict[str, Any]:
    """As it is answered, with the members; `base` is the address in front of /Groups."""
    place = f"{base}/Groups/{quote(group.id, safe='')}"
    members = [
        {
            "value": one.id,
            "display": one.name,
            "type": "User",
            "$ref": f"{base}/Users/{quote(one.id, safe='')}",
        }
        for one in users
    ]
    return {
        "schemas": [GROUP_SCHEMA],
        "id": group.id,
        "displayName": shown(group),
        **({"externalId": group.external_id} if group.external_id else {}),
        "members": members,
        "meta": {"resourceType": "Group", "location": place},
    }


def user_saved(
    before: Directory, old: User | None, new: User, given: Attributes, password: str
) -> Saved:
    """`old` becomes `new` with the attributes; `password`: a hash, or empty. Whoever is deactivated
    or gets another password is out. ScimError 409, AccountError."""
    after = replace(
        new,
        name=named(_text(given, "username", MAX_NAME + 1), "user"),
        external_id=_text(given, "externalid", MAX_TEXT),
        display_name=_text(given, "displayname", MAX_TEXT),
        active=bool(given.get("active", new.active)),
        password=password or new.password,
    )
    others = [one for one in before.users.values() if old is None or one.name != old.name]
    if any(one.name.casefold() == after.name.casefold() for one in others):
        raise _taken(f"there is a user '{after.name}'")
    if old is None:
        return Saved(Change([after]), after)
    if password or not after.active:
        return Saved(Change([after], [*_left(old, after), *entries_of(before, old.name)]), after)
    sessions = [one for one in before.tokens.values() if one.user == old.name]
    moved = [replace(one, user=after.name) for one in sessions] if old.name != after.name else []
    return Saved(Change([after, *moved], _left(old, after)), after)


def group_saved(before: Directory, old: Group | None, new: Group, given: Attributes) -> Saved:
    """`old` becomes `new` with the attributes and the members; grants stay. ScimError 400 for a
    member that is not there, 409; AccountError."""
    display = _text(given, "displayname", MAX_TEXT)
    name = old.name if old is not None and shown(old) == display else named_by(display)
    after = replace(
        new,
        name=named(name, "group"),
        external_id=_text(given, "externalid", MAX_TEXT),
        display_name=display,
    )
    others = [one for one in before.groups.values() if old is None or one.name != old.name]
    if any(
        one.name.casefold() == after.name.casefold() or shown(one).casefold() == display.casefold()
        for one in others
    ):
        raise _taken(f"there is a group '{after.name}'")
    members = given.get("members")
    names = _users(before, members if isinstance(members, frozenset) else frozenset())
    left = frozenset() if old is None else frozenset({old.name})
    users = []
    for one in before.users.values():
        joins = frozenset({after.name}) if one.name in names else frozenset()
        groups = (one.groups - left - {after.name}) | joins
        if groups != one.groups:
            users.append(replace(one, groups=groups))
    return Saved(Change([after, *users], _left(old, after)), after)


def user_removed(before: Directory, given: str) -> Saved:
    """With everything that lets that user in. ScimError 404."""
    user = user_of(before, given)
    return Saved(gone_with(before, user.name), user)


def group_removed(before: Directory, given: str) -> Saved:
    """Its members stay, without what it gave them. ScimError 404."""
    group = group_of(before, given)
    return Saved(group_gone_with(before, group.name), group)


def named_by(display: str) -> str:
    """As commands and grants have it: "Lockstep Ops" is Lockstep-Ops."""
    spread = unicodedata.normalize("NFKD", display)
    letters = "".join(one for one in spread if not unicodedata.combining(one))
    return _NO_NAME.sub("-", letters).lstrip("-_.@+").rstrip("-")[:MAX_NAME]


def _users(before: Directory, ids: Collection[str]) -> frozenset[str]:
    by_id = {one.id: one.name for one in before.users.values()}
    strange = sorted(one for one in ids if one not in by_id)
    if strange:
        raise ScimError(
            "invalidValue", f"no user has the id '{strange[0][:100]}'",
            hint="members are users that are provisioned already; groups in groups are not taken",
        )  # fmt: skip
    return frozenset(by_id[one] for one in ids)


def _left(old: User | Group | None, after: User | Group) -> list[tuple[str, str]]:
    if old is None or old.name == after.name:
        return []
    return [("user" if isinstance(old, User) else "group", old.name)]


def _text(given: Attributes, name: str, limit: int) -> str:
    found = given.get(name, "")
    if not isinstance(found, str) or len(found) > limit or not found.isprintable():
        raise ScimError("invalidValue", f"{name}: at most {limit} printable characters")
    return found


def _taken(message: str) -> ScimError:
    return ScimError("uniqueness", message, status=HTTPStatus.CONFLICT)


def _gone(message: str) -> ScimError:
    return ScimError("", message, status=HTTPStatus.NOT_FOUND)
