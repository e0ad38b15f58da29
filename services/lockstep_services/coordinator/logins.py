"""Logging in and out, who one is, and choosing a password."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import Any

import msgspec
from aiohttp import web

from lockstep.clock import Clock, Randomness
from lockstep.frame import Offload, Problem
from lockstep.frame.accounts import AccountBook
from lockstep.frame.bodies import read_body
from lockstep.frame.callers import Callers, caller_of
from lockstep.rights import Kind, Principal
from lockstep.rights.accounts import (
    ID_CHARACTERS,
    Change,
    Directory,
    Token,
    User,
    digest_of,
    token_text,
)
from lockstep.rights.passwords import hashed
from lockstep.settings import OidcSettings, RightsSettings

MAX_SESSIONS = 20
MAX_BODY_BYTES = 16_384
"""Of what strangers send: names, passwords and invitations are short."""
REPLACED = "this password was replaced by another one"


class _Login(msgspec.Struct):
    user: str
    password: str


class _Invited(msgspec.Struct):
    invitation: str
    password: str


class _Password(msgspec.Struct):
    old: str
    new: str


class Logins:
    """Handlers over the accounts."""

    def __init__(
        self,
        book: AccountBook,
        callers: Callers,
        clock: Clock,
        randomness: Randomness,
        settings: RightsSettings,
        offload: Offload,
        openid: OidcSettings,
    ) -> None:
        self._book = book
        self._callers = callers
        self._clock = clock
        self._randomness = randomness
        self._settings = settings
        self._offload = offload
        self._openid = openid

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        router.add_get("/v1/login", self._offer)
        router.add_post("/v1/login", self._log_in)
        router.add_post("/v1/logout", self._log_out)
        router.add_post("/v1/invitation", self._accept)
        router.add_get("/v1/me", self._me)
        router.add_put("/v1/me/password", self._change_password)

    async def _offer(self, _request: web.Request) -> web.Response:
        """Where people can sign in besides: nothing of it is a secret."""
        known = self._openid
        offered = {"issuer": known.issuer, "client_id": known.client_id, "scope": known.scope}
        return web.json_response({"openid": offered if known.client_id else None})

    async def _log_in(self, request: web.Request) -> web.Response:
        body: _Login = await read_body(request, _Login, max_bytes=MAX_BODY_BYTES)
        address = self._callers.address_of(request)
        caller = await self._callers.by_password(body.user, body.password, address)
        if caller is None:
            raise Problem(HTTPStatus.UNAUTHORIZED, "no user has this name and this password")
        return await self._entered(body.user, caller.password_hash)

    async def _entered(self, user: str, password_hash: str) -> web.Response:
        """A session of its own; the oldest goes where there are many. `password_hash`: of the one
        that let the user in; this process may not have read yet that there is another."""
        token, given = self.made(user, self._settings.session_ms, user=user)

        def begin(before: Directory) -> Change:
            if active_user_of(before, user).password != password_hash:
                raise Problem(HTTPStatus.UNAUTHORIZED, REPLACED)
            mine = [one for one in before.tokens.values() if one.user == user and not one.invites]
            oldest = sorted(mine, key=lambda one: one.created_ms)[: -(MAX_SESSIONS - 1)]
            return Change([token], [("token", one.id) for one in oldest])

        await self._book.change(begin)
        return web.json_response({"user": user, "token": given, "expires_ms": token.expires_ms})

    def now_ms(self) -> int:
        """When something is made."""
        return self._clock.now_ms()

    def identity(self) -> str:
        """For a user or a group that is made."""
        return self._randomness.uuid_hex()

    def made(self, name: str, life_ms: int, **more: Any) -> tuple[Token, str]:
        """A token for the store, and its text for its owner."""
        identity = self._randomness.uuid_hex()[:ID_CHARACTERS]
        given = token_text(identity, self._randomness.secret())
        now_ms = self._clock.now_ms()
        return Token(identity, name, digest_of(given), now_ms, now_ms + life_ms, **more), given

    async def _log_out(self, request: web.Request) -> web.Response:
        caller = _caller(request)
        if caller.kind is Kind.USER and caller.token:
            await self._book.change(lambda _: Change(remove=[("token", caller.token)]))
        return web.json_response({"user": caller.name})

    async def _accept(self, request: web.Request) -> web.Response:
        body: _Invited = await read_body(request, _Invited, max_bytes=MAX_BODY_BYTES)
        await self._book.look_again()
        found = self._book.directory.token(body.invitation, self._clock.now_ms())
        if found is None or not found.invites or found.user is None:
            raise Problem(
                HTTPStatus.UNAUTHORIZED, "this invitation is not good, or not any more",
                hint="an administrator makes another one: lockstep users passwd <user> --invite",
            )  # fmt: skip
        chosen = await self.set_password(found.user, body.password, spent=found.id)
        return await self._entered(found.user, chosen)

    async def _me(self, request: web.Request) -> web.Response:
        caller = _caller(request)
        grants = [{"role": one.role, "app": one.app} for one in sorted(caller.grants)]
        return web.json_response({"kind": caller.kind, "name": caller.name, "grants": grants})

    async def _change_password(self, request: web.Request) -> web.Response:
        caller = _caller(request)
        body: _Password = await read_body(request, _Password, max_bytes=MAX_BODY_BYTES)
        if caller.kind is not Kind.USER:
            raise Problem(HTTPStatus.CONFLICT, f"{caller} has no password")
        address = self._callers.address_of(request)
        known = await self._callers.by_password(caller.name, body.old, address)
        if known is None:
            raise Problem(HTTPStatus.FORBIDDEN, "this is not the password of today")
        await self.set_password(caller.name, body.new, kept=caller.token, after=known.password_hash)
        return web.json_response({"user": caller.name})

    async def hashed(self, password: str) -> str:
        """AccountError for one that is too short."""
        salt = self._randomness.secret()
        return await self._offload.run(lambda: hashed(password, salt))

    async def set_password(
        self, name: str, password: str, *, kept: str = "", spent: str = "", after: str = ""
    ) -> str:
        """Its hash. Invitations and other sessions of that user end. Problem 404; 401
        where the session `kept` has ended or the invitation `spent` was used meanwhile, or where
        the password is not the one with the hash `after`."""
        found = await self.hashed(password)

        def choose(before: Directory) -> Change:
            user = user_of(before, name)
            if spent and spent not in before.tokens:
                raise Problem(HTTPStatus.UNAUTHORIZED, "this invitation was used")
            if kept and kept not in before.tokens:
                raise Problem(HTTPStatus.UNAUTHORIZED, "this session has ended")
            if after and user.password != after:
                raise Problem(HTTPStatus.UNAUTHORIZED, REPLACED)
            theirs = [one.id for one in before.tokens.values() if one.user == name]
            ending = [("token", one) for one in theirs if one != kept]
            return Change([replace(user, password=found)], ending)

        await self._book.change(choose)
        return found


def user_of(before: Directory, name: str) -> User:
    """Problem 404."""
    found = before.users.get(name)
    if found is None:
        raise Problem(HTTPStatus.NOT_FOUND, f"there is no user '{name[:100]}'")
    return found


def active_user_of(before: Directory, name: str) -> User:
    """Problem 404; 409 for one who is deactivated."""
    found = user_of(before, name)
    if not found.active:
        raise Problem(
            HTTPStatus.CONFLICT, f"the user '{name[:100]}' is deactivated",
            hint="the identity provider that keeps this user activates it again",
        )  # fmt: skip
    return found


def _caller(request: web.Request) -> Principal:
    caller = caller_of(request)
    assert caller is not None  # the door lets nobody else in here
    return caller
