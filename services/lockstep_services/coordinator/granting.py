"""What users and groups were granted, and tokens of services, over REST."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus

import msgspec
from aiohttp import web

from lockstep.frame import Problem
from lockstep.frame.accounts import AccountBook
from lockstep.frame.bodies import read_body
from lockstep.frame.callers import caller_of, require
from lockstep.rights import EVERYWHERE, Grant, Kind, Permission, Principal
from lockstep.rights.accounts import Change, Directory, Token, grant_of, named
from lockstep.settings import RightsSettings
from lockstep_services.coordinator.logins import Logins, user_of
from lockstep_services.coordinator.people import group_of, plain

DEFAULT_TOKEN_MS = 90 * 86_400_000


class _Grant(msgspec.Struct):
    role: str
    user: str | None = None
    group: str | None = None
    app: str | None = None


class _TokenGrant(msgspec.Struct):
    role: str
    app: str | None = None


class _Token(msgspec.Struct):
    name: str
    grants: list[_TokenGrant]
    expires_in_ms: int = DEFAULT_TOKEN_MS


class Granting:
    """Handlers over the accounts."""

    def __init__(self, book: AccountBook, logins: Logins, settings: RightsSettings) -> None:
        self._book = book
        self._logins = logins
        self._settings = settings

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        router.add_post("/v1/grants", self._grant)
        router.add_delete("/v1/grants", self._revoke)
        router.add_get("/v1/tokens", self._tokens)
        router.add_post("/v1/tokens", self._create_token)
        router.add_delete("/v1/tokens/{token}", self._revoke_token)

    async def _grant(self, request: web.Request) -> web.Response:
        return await self._granted(request, gives=True)

    async def _revoke(self, request: web.Request) -> web.Response:
        return await self._granted(request, gives=False)

    async def _granted(self, request: web.Request, *, gives: bool) -> web.Response:
        """Who administers an app may give rights on that app."""
        body: _Grant = await read_body(request, _Grant)
        grant = grant_of(body.role, body.app)
        require(request, Permission.ADMINISTER, _app(grant))
        if (body.user is None) == (body.group is None):
            raise Problem(HTTPStatus.BAD_REQUEST, "to whom? give either a user or a group")

        def change(before: Directory) -> Change:
            one = (
                user_of(before, body.user)
                if body.user is not None
                else group_of(before, body.group or "")
            )
            grants = one.grants | {grant} if gives else one.grants - {grant}
            return Change([replace(one, grants=grants)])

        await self._book.change(change)
        return web.json_response({"role": grant.role, "app": grant.app})

    async def _tokens(self, request: web.Request) -> web.Response:
        """Those that the caller may revoke."""
        caller = caller_of(request)
        await self._book.refresh()
        found = self._book.directory.tokens.values()
        body = [
            {
                "id": one.id,
                "name": one.name,
                "kind": "service" if one.user is None else "session",
                "grants": plain(one.grants),
                "created_ms": one.created_ms,
                "expires_ms": one.expires_ms,
            }
            for one in sorted(found, key=lambda token: (token.created_ms, token.id))
            if not one.invites and may_revoke(caller, one)
        ]
        return web.json_response({"tokens": body})

    async def _create_token(self, request: web.Request) -> web.Response:
        """Its text is in this answer, and nowhere else."""
        body: _Token = await read_body(request, _Token)
        grants = frozenset(grant_of(one.role, one.app) for one in body.grants)
        for grant in grants:
            require(request, Permission.ADMINISTER, _app(grant))
        if not grants:
            raise Problem(HTTPStatus.BAD_REQUEST, "a token without grants is good for nothing")
        longest_ms = self._settings.token_max_ms
        if not 0 < body.expires_in_ms <= longest_ms:
            raise Problem(
                HTTPStatus.BAD_REQUEST, f"expires_in_ms: expected 1 to {longest_ms}",
                hint="the longest life is rights.token_max_ms",
            )  # fmt: skip
        name = named(body.name, "token")
        token, given = self._logins.made(name, body.expires_in_ms, grants=grants)
        await self._book.change(lambda _: Change([token]))
        answer = {"id": token.id, "name": name, "token": given, "expires_ms": token.expires_ms}
        return web.json_response(answer, status=201)

    async def _revoke_token(self, request: web.Request) -> web.Response:
        caller, identity = caller_of(request), request.match_info["token"]

        def remove(before: Directory) -> Change:
            found = before.tokens.get(identity)
            if found is None or not may_revoke(caller, found):
                raise Problem(HTTPStatus.NOT_FOUND, f"there is no token '{identity[:100]}'")
            return Change(remove=[("token", identity)])

        await self._book.change(remove)
        return web.json_response({"id": identity})


def may_revoke(caller: Principal | None, token: Token) -> bool:
    """Administrators everywhere all; who administers apps those that are good for these apps alone;
    everybody what is theirs: a user's sessions, and the token that is shown itself."""
    if caller is None:
        return False
    if caller.may(Permission.ADMINISTER):
        return True
    if token.invites:
        return False
    if token.user is not None:
        return caller.kind is Kind.USER and token.user == caller.name
    if caller.token and token.id == caller.token:
        return True
    return bool(token.grants) and all(
        caller.may(Permission.ADMINISTER, _app(grant)) for grant in token.grants
    )


def _app(grant: Grant) -> str | None:
    return None if grant.app == EVERYWHERE else grant.app
