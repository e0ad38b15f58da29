"""Users over SCIM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiohttp import web

from lockstep.frame.accounts import AccountBook
from lockstep.frame.audit import add_to_note
from lockstep.frame.bodies import read_body
from lockstep.rights.accounts import Change, Directory, User
from lockstep_services.coordinator.logins import Logins
from lockstep_services.coordinator.scim import resources
from lockstep_services.coordinator.scim.answers import (
    Handler,
    listed,
    read_operations,
    resource,
    wanted,
)
from lockstep_services.coordinator.scim.filters import matches
from lockstep_services.coordinator.scim.patches import USER, Attributes, patched, written
from lockstep_services.coordinator.scim.resources import Saved


class ScimUsers:
    """Handlers over the accounts. `base`: the address in front of /Users."""

    def __init__(self, book: AccountBook, logins: Logins, base: Callable[[], str]) -> None:
        self._book = book
        self._logins = logins
        self._base = base

    @property
    def handlers(self) -> list[tuple[str, str, Handler]]:
        """By method and path."""
        one = "/Users/{user}"
        return [
            ("GET", "/Users", self._list),
            ("POST", "/Users", self._add),
            ("GET", one, self._show),
            ("PUT", one, self._put),
            ("PATCH", one, self._patch),
            ("DELETE", one, self._remove),
        ]

    async def _list(self, request: web.Request) -> web.Response:
        """In an order that stays, for whoever reads page by page."""
        asked, found = wanted(request, resources.USER_FACTS), await self._now()
        chosen = [
            one
            for one in sorted(found.users.values(), key=lambda user: user.id)
            if asked is None or matches(asked, resources.user_facts(one))
        ]
        return listed(
            request, len(chosen), lambda at: resources.user_body(found, chosen[at], self._base())
        )

    async def _show(self, request: web.Request) -> web.Response:
        found = await self._now()
        user = resources.user_of(found, request.match_info["user"])
        return resource(request, resources.user_body(found, user, self._base()))

    async def _add(self, request: web.Request) -> web.Response:
        given = written(await read_body(request, Any), USER)
        password = await self._hashed(given)
        made = User("", self._logins.now_ms(), id=self._logins.identity())

        def add(before: Directory) -> Saved:
            return resources.user_saved(before, None, made, given, password)

        return await self._saved(request, add, status=201)

    async def _put(self, request: web.Request) -> web.Response:
        given = written(await read_body(request, Any), USER)
        return await self._change(request, lambda _: given)

    async def _patch(self, request: web.Request) -> web.Response:
        operations = await read_operations(request)

        def given(user: User) -> Attributes:
            return patched(resources.user_attributes(user), operations, USER)

        return await self._change(request, given)

    async def _change(
        self, request: web.Request, given: Callable[[User], Attributes]
    ) -> web.Response:
        """A password is hashed before, which takes a thread."""
        identity = request.match_info["user"]
        password = await self._hashed(given(resources.user_of(await self._now(), identity)))

        def change(before: Directory) -> Saved:
            user = resources.user_of(before, identity)
            return resources.user_saved(before, user, user, given(user), password)

        return await self._saved(request, change)

    async def _remove(self, request: web.Request) -> web.Response:
        identity = request.match_info["user"]
        await self._decided(request, lambda before: resources.user_removed(before, identity))
        return web.Response(status=204)

    async def _saved(
        self, request: web.Request, decide: Callable[[Directory], Saved], status: int = 200
    ) -> web.Response:
        user = await self._decided(request, decide)
        body = resources.user_body(self._book.directory, user, self._base())
        return resource(request, body, status)

    async def _decided(self, request: web.Request, decide: Callable[[Directory], Saved]) -> User:
        """The audit log names who it was about: an id says nothing to its readers."""
        saved: list[User] = []

        def change(before: Directory) -> Change:
            found = decide(before)
            assert isinstance(found.one, User)
            saved.append(found.one)
            state = "" if found.one.active else ", deactivated"
            add_to_note(request, f" (user {found.one.name}{state})")
            return found.change

        await self._book.change(change)
        return saved[-1]

    async def _now(self) -> Directory:
        await self._book.refresh()
        return self._book.directory

    async def _hashed(self, given: Attributes) -> str:
        password = given.get("password")
        return await self._logins.hashed(password) if isinstance(password, str) and password else ""
