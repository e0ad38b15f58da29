"""Users and groups over REST."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import Any

import msgspec
from aiohttp import web

from lockstep.frame import Problem
from lockstep.frame.accounts import AccountBook
from lockstep.frame.bodies import read_body
from lockstep.rights import Grant
from lockstep.rights.accounts import (
    Change,
    Directory,
    Group,
    User,
    gone_with,
    grant_of,
    group_gone_with,
    named,
)
from lockstep.settings import RightsSettings
from lockstep_services.coordinator.logins import Logins, active_user_of, user_of


class _User(msgspec.Struct):
    password: str | None = None
    role: str | None = None


class People:
    """Handlers over the accounts."""

    def __init__(self, book: AccountBook, logins: Logins, settings: RightsSettings) -> None:
        self._book = book
        self._logins = logins
        self._settings = settings

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        router.add_get("/v1/users", self._users)
        router.add_put("/v1/users/{user}", self._put_user)
        router.add_delete("/v1/users/{user}", self._remove_user)
        router.add_post("/v1/users/{user}/invitation", self._invite)
        router.add_get("/v1/groups", self._groups)
        router.add_put("/v1/groups/{group}", self._put_group)
        router.add_delete("/v1/groups/{group}", self._remove_group)
        router.add_put("/v1/groups/{group}/members/{user}", self._join)
        router.add_delete("/v1/groups/{group}/members/{user}", self._leave)

    async def _users(self, _request: web.Request) -> web.Response:
        await self._book.refresh()
        users = self._book.directory.users
        body = [
            {
                "user": one.name,
                "has_password": bool(one.password),
                "groups": sorted(one.groups),
                "grants": plain(one.grants),
                "created_ms": one.created_ms,
                "active": one.active,
            }
            for one in sorted(users.values(), key=lambda user: user.name)
        ]
        return web.json_response({"users": body})

    async def _put_user(self, request: web.Request) -> web.Response:
        """Makes a user, or gives one another password; a new one without a password is invited."""
        name = named(request.match_info["user"], "user")
        body: _User = await read_body(request, _User) if request.can_read_body else _User()
        is_new = name not in (await self._now()).users
        if is_new:
            grants = frozenset() if body.role is None else frozenset({grant_of(body.role, None)})
            await self._make(name, grants, body.password)
        elif body.password is not None:
            await self._logins.set_password(name, body.password)
        answer: dict[str, Any] = {"user": name, "created": is_new}
        if is_new and body.password is None:
            answer |= await self._invited(name)
        return web.json_response(answer, status=201 if is_new else 200)

    async def _make(self, name: str, grants: frozenset[Grant], password: str | None) -> None:
        """In one change: a first user shuts a door that was open."""
        hashed = "" if password is None else await self._logins.hashed(password)
        made = User(name, self._logins.now_ms(), hashed, grants, id=self._logins.identity())
        await self._book.change(lambda before: Change([before.users.get(name, made)]))

    async def _now(self) -> Directory:
        await self._book.refresh()
        return self._book.directory

    async def _invite(self, request: web.Request) -> web.Response:
        name = request.match_info["user"]
        return web.json_response({"user": name, **await self._invited(name)}, status=201)

    async def _invited(self, name: str) -> dict[str, Any]:
        """A one-time secret with which that user chooses a password; it is shown this once."""
        life_ms = self._settings.invitation_ms
        token, given = self._logins.made(name, life_ms, user=name, invites=True)

        def invite(before: Directory) -> Change:
            active_user_of(before, name)
            old = [one.id for one in before.tokens.values() if one.user == name and one.invites]
            return Change([token], [("token", one) for one in old])

        await self._book.change(invite)
        return {"invitation": given, "expires_ms": token.expires_ms}

    async def _remove_user(self, request: web.Request) -> web.Response:
        name = request.match_info["user"]

        def remove(before: Directory) -> Change:
            user_of(before, name)
            return gone_with(before, name)

        await self._book.change(remove)
        return web.json_response({"user": name})

    async def _groups(self, _request: web.Request) -> web.Response:
        found = await self._now()
        body = [
            {
                "group": one.name,
                "grants": plain(one.grants),
                "members": sorted(u.name for u in found.users.values() if one.name in u.groups),
            }
            for one in sorted(found.groups.values(), key=lambda group: group.name)
        ]
        return web.json_response({"groups": body})

    async def _put_group(self, request: web.Request) -> web.Response:
        name = named(request.match_info["group"], "group")
        is_new = name not in (await self._now()).groups
        made = Group(name, id=self._logins.identity())
        await self._book.change(lambda before: Change([before.groups.get(name, made)]))
        return web.json_response({"group": name}, status=201 if is_new else 200)

    async def _remove_group(self, request: web.Request) -> web.Response:
        name = request.match_info["group"]

        def remove(before: Directory) -> Change:
            group_of(before, name)
            return group_gone_with(before, name)

        await self._book.change(remove)
        return web.json_response({"group": name})

    async def _join(self, request: web.Request) -> web.Response:
        return await self._member(request, joins=True)

    async def _leave(self, request: web.Request) -> web.Response:
        return await self._member(request, joins=False)

    async def _member(self, request: web.Request, *, joins: bool) -> web.Response:
        name, group = request.match_info["user"], request.match_info["group"]

        def change(before: Directory) -> Change:
            user, _ = user_of(before, name), group_of(before, group)
            groups = user.groups | {group} if joins else user.groups - {group}
            return Change([replace(user, groups=groups)])

        await self._book.change(change)
        return web.json_response({"group": group, "user": name})


def group_of(before: Directory, name: str) -> Group:
    """Problem 404."""
    found = before.groups.get(name)
    if found is None:
        raise Problem(HTTPStatus.NOT_FOUND, f"there is no group '{name[:100]}'")
    return found


def plain(grants: frozenset[Grant]) -> list[dict[str, str]]:
    """For JSON."""
    return [{"role": one.role, "app": one.app} for one in sorted(grants)]
