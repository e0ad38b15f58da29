"""Groups and their members over SCIM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from lockstep.clock import Randomness
from lockstep.frame.accounts import AccountBook
from lockstep.frame.audit import add_to_note
from lockstep.frame.bodies import read_body
from lockstep.rights.accounts import Change, Directory, Group, User
from lockstep_services.coordinator.scim import resources
from lockstep_services.coordinator.scim.answers import (
    Body,
    Handler,
    is_shown,
    listed,
    read_operations,
    resource,
    wanted,
)
from lockstep_services.coordinator.scim.filters import attributes_of, matches
from lockstep_services.coordinator.scim.patches import GROUP, patched, written
from lockstep_services.coordinator.scim.resources import Saved

MEMBERS: Final = frozenset({"members", "members.value"})
"""What a filter asks about them by."""


class ScimGroups:
    """Handlers over the accounts. `base`: the address in front of /Groups."""

    def __init__(self, book: AccountBook, randomness: Randomness, base: Callable[[], str]) -> None:
        self._book = book
        self._randomness = randomness
        self._base = base

    @property
    def handlers(self) -> list[tuple[str, str, Handler]]:
        """By method and path."""
        one = "/Groups/{group}"
        return [
            ("GET", "/Groups", self._list),
            ("POST", "/Groups", self._add),
            ("GET", one, self._show),
            ("PUT", one, self._put),
            ("PATCH", one, self._patch),
            ("DELETE", one, self._remove),
        ]

    async def _list(self, request: web.Request) -> web.Response:
        """Members are looked for once, and only if somebody wants to see them or asks about them:
        there may be thousands of groups and users."""
        asked, found = wanted(request, resources.GROUP_FACTS), await self._now()
        is_about_them = asked is not None and not MEMBERS.isdisjoint(attributes_of(asked))
        members: Mapping[str, Sequence[User]] = {}
        if is_about_them or is_shown(request, "members"):
            members = resources.members_by_group(found)
        chosen = [
            one
            for one in sorted(found.groups.values(), key=lambda group: group.id)
            if asked is None
            or matches(asked, resources.group_facts(one, members.get(one.name, ())))
        ]

        def body(at: int) -> Body:
            one = chosen[at]
            return resources.group_body(one, members.get(one.name, ()), self._base())

        return listed(request, len(chosen), body)

    async def _show(self, request: web.Request) -> web.Response:
        found = await self._now()
        group = resources.group_of(found, request.match_info["group"])
        return resource(request, self._body(found, group))

    async def _add(self, request: web.Request) -> web.Response:
        given = written(await read_body(request, Any), GROUP)
        made = Group("", id=self._randomness.uuid_hex())

        def add(before: Directory) -> Saved:
            return resources.group_saved(before, None, made, given)

        return await self._saved(request, add, status=201)

    async def _put(self, request: web.Request) -> web.Response:
        given = written(await read_body(request, Any), GROUP)
        identity = request.match_info["group"]

        def put(before: Directory) -> Saved:
            group = resources.group_of(before, identity)
            return resources.group_saved(before, group, group, given)

        return await self._saved(request, put)

    async def _patch(self, request: web.Request) -> web.Response:
        """204: an answer with all members would be long, and no provider reads it."""
        operations, identity = await read_operations(request), request.match_info["group"]

        def patch(before: Directory) -> Saved:
            group = resources.group_of(before, identity)
            given = patched(resources.group_attributes(before, group), operations, GROUP)
            return resources.group_saved(before, group, group, given)

        await self._decided(request, patch)
        return web.Response(status=204)

    async def _remove(self, request: web.Request) -> web.Response:
        identity = request.match_info["group"]
        await self._decided(request, lambda before: resources.group_removed(before, identity))
        return web.Response(status=204)

    async def _saved(
        self, request: web.Request, decide: Callable[[Directory], Saved], status: int = 200
    ) -> web.Response:
        group = await self._decided(request, decide)
        return resource(request, self._body(self._book.directory, group), status)

    def _body(self, found: Directory, group: Group) -> Body:
        return resources.group_body(group, resources.members_of(found, group), self._base())

    async def _decided(self, request: web.Request, decide: Callable[[Directory], Saved]) -> Group:
        """The audit log names the group: an id says nothing to its readers."""
        saved: list[Group] = []

        def change(before: Directory) -> Change:
            found = decide(before)
            assert isinstance(found.one, Group)
            saved.append(found.one)
            add_to_note(request, f" (group {found.one.name})")
            return found.change

        await self._book.change(change)
        return saved[-1]

    async def _now(self) -> Directory:
        await self._book.refresh()
        return self._book.directory
