"""Logging in, as a user or with a token: what comes of it is kept in a cookie that no script can
read. The services judge it."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from html import escape
from http import HTTPStatus
from typing import Annotated, Final
from urllib.parse import quote, urlsplit

from fastapi import FastAPI, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from lockstep.cli.refusals import RefusedError
from lockstep.events import LockstepError
from lockstep.rights import StrangerError
from lockstep.rights.openid import is_signed
from lockstep_services.console.suite import Suite

TOKEN_COOKIE: Final = "lockstep_console"
MAX_TOKEN_CHARACTERS: Final = 4_096
MAX_NAME_CHARACTERS: Final = 256


def token_of(request: Request) -> str | None:
    """What the person gave at log-in."""
    return request.cookies.get(TOKEN_COOKIE) or None


def path_within(target: str) -> str:
    """A path of the console; anything else becomes the first page."""
    # Browsers leave out tabs and line ends, and read a backslash as a slash.
    is_own = target.startswith("/") and not target.startswith("//")
    return target if is_own and target.isprintable() and "\\" not in target else "/"


def is_private(request: Request, own_url: str = "") -> bool:
    """Whether the browser speaks TLS: with us, or by its own word with a proxy in front of us."""
    told = (own_url, request.headers.get("origin", ""))
    return "https" in (request.url.scheme, *(urlsplit(one).scheme for one in told))


def add_to(
    application: FastAPI,
    leave: Callable[[Request], Awaitable[Response]] | None = None,
    *,
    cluster_token: str = "",
) -> None:
    """The routes. `leave`: how who has signed in at the provider gets out there. `cluster_token`:
    with it coordinators believe from which browser a password comes."""
    page = partial(login_page, signs_in=leave is not None)

    @application.get("/login")
    async def ask(to: str = "/") -> Response:
        return HTMLResponse(page(path_within(to)))

    @application.post("/login")
    async def log_in(
        request: Request,
        user: Annotated[str, Form(max_length=MAX_NAME_CHARACTERS)] = "",
        password: Annotated[str, Form(max_length=MAX_NAME_CHARACTERS)] = "",
        token: Annotated[str, Form(max_length=MAX_TOKEN_CHARACTERS)] = "",
        to: Annotated[str, Form()] = "/",
    ) -> Response:
        target, given = path_within(to), token.strip()
        doors = request.app.state.doors
        try:
            if not given:
                body = {"user": user.strip(), "password": password}
                by = Suite(doors, cluster_token, browser=_address(request))
                given = await _session(by, "/v1/login", body)
            elif not given.isascii() or not given.isprintable():
                return HTMLResponse(page(target, "a token holds plain characters only"), 401)
            else:
                await Suite(doors, given).ask("/v1/me")
        except LockstepError as error:
            return refused(error, partial(page, target))
        return _entered(request, target, given)

    @application.get("/invitation")
    async def invite() -> Response:
        return HTMLResponse(_invitation_page())

    @application.post("/invitation")
    async def accept(
        request: Request,
        invitation: Annotated[str, Form(max_length=MAX_TOKEN_CHARACTERS)],
        password: Annotated[str, Form(max_length=MAX_NAME_CHARACTERS)],
        again: Annotated[str, Form(max_length=MAX_NAME_CHARACTERS)],
    ) -> Response:
        if password != again:
            return HTMLResponse(_invitation_page("the two passwords differ", invitation), 400)
        try:
            body = {"invitation": invitation.strip(), "password": password}
            by = Suite(request.app.state.doors, None, browser=_address(request))
            given = await _session(by, "/v1/invitation", body)
        except LockstepError as error:
            return refused(error, lambda says: _invitation_page(says, invitation))
        return _entered(request, "/", given)

    @application.post("/logout")
    async def log_out(request: Request) -> Response:
        given = token_of(request)
        if given is not None:
            with contextlib.suppress(LockstepError):  # a session that is gone is out already
                await Suite(request.app.state.doors, given).tell("POST", "/v1/logout")
        response: Response = RedirectResponse("/login", status_code=303)
        if leave is not None and given is not None and is_signed(given):
            with contextlib.suppress(LockstepError):  # the provider is away: out of here at least
                response = await leave(request)
        response.delete_cookie(TOKEN_COOKIE)
        return response


async def _session(suite: Suite, path: str, body: Mapping[str, str]) -> str:
    """The token of a session that begins now. RefusedError, UnavailableError."""
    answer = await suite.tell("POST", path, body)
    return str(answer["token"])


def _address(request: Request) -> str:
    return "" if request.client is None else request.client.host


def _entered(request: Request, target: str, token: str) -> Response:
    # The guard has compared the browser's word with the host.
    response = RedirectResponse(target, status_code=303)
    response.set_cookie(
        TOKEN_COOKIE, token, httponly=True, samesite="strict",
        secure=is_private(request),
    )  # fmt: skip
    return response


def refused(error: LockstepError, page: Callable[[str], str]) -> Response:
    """The page again, with what is wrong; in the suite's words where it answered."""
    status: int = HTTPStatus.SERVICE_UNAVAILABLE
    if isinstance(error, (RefusedError, StrangerError)):
        status = error.status if isinstance(error, RefusedError) else HTTPStatus.UNAUTHORIZED
    if status == HTTPStatus.UNAUTHORIZED and isinstance(error, RefusedError):
        return HTMLResponse(page(str(error.problem.get("detail") or error.message)), status)
    return HTMLResponse(page(str(error)), status)


def login_page(target: str, error: str = "", *, signs_in: bool = False) -> str:
    """HTML. `signs_in`: a link to the provider stands above the form."""
    link = f"/signin?to={quote(target, safe='/')}"
    offered = f'<p><a class="btn" href="{link}">Sign in with your organisation</a></p>'
    return _page(
        "Log in to Lockstep",
        f"""{offered if signs_in else ""}<form method="post" action="/login">
<input type="hidden" name="to" value="{escape(target)}">
<label for="user">User</label>
<input id="user" name="user" autocomplete="username" autofocus>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password">
{_trouble(error)}<button class="btn primary" type="submit">Log in</button>
<details><summary>I have a token</summary><label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="off"></details></form>""",
    )


def _invitation_page(error: str = "", invitation: str = "") -> str:
    """The invitation stands behind the address's `#`: so no server and no log ever sees it before
    it is used."""
    return _page(
        "Choose a password",
        f"""<p>You were invited to Lockstep. A password has 12 characters at least.</p>
<form method="post" action="/invitation">
<label for="invitation">Invitation</label>
<input id="invitation" name="invitation" type="password" autocomplete="off" required
 value="{escape(invitation)}">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="new-password" required>
<label for="again">The same again</label>
<input id="again" name="again" type="password" autocomplete="new-password" required>
{_trouble(error)}<button class="btn primary" type="submit">Log in</button></form>
<script src="/assets/invitation.js"></script>""",
    )


def _trouble(error: str) -> str:
    return f'<p class="login-error" role="alert">{escape(error)}</p>' if error else ""


def _page(title: str, body: str) -> str:
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title} · Lockstep</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="/assets/icon.svg"><link rel="stylesheet" href="/assets/console.css">
<script src="/assets/theme.js"></script></head>
<body class="login"><main><img src="/assets/icon.svg" alt="" width="40" height="40">
<h1>{title}</h1>{body}</main></body></html>"""
