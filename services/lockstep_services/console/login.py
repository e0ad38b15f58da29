"""Logging in: the suite's token, given once, kept in a cookie that no script can read."""

from __future__ import annotations

from html import escape
from http import HTTPStatus
from typing import Annotated, Final
from urllib.parse import urlsplit

from fastapi import FastAPI, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from lockstep.cli.refusals import RefusedError
from lockstep.events import LockstepError
from lockstep_services.console.suite import Suite

TOKEN_COOKIE: Final = "lockstep_console"
MAX_TOKEN_CHARACTERS: Final = 4_096


def token_of(request: Request) -> str | None:
    """What the person gave at log-in."""
    return request.cookies.get(TOKEN_COOKIE) or None


def path_within(target: str) -> str:
    """A path of the console; anything else becomes the first page."""
    parts = urlsplit(target)
    is_own = target.startswith("/") and not target.startswith(("//", "/\\"))
    return target if is_own and not parts.scheme and not parts.netloc else "/"


def add_to(application: FastAPI) -> None:
    """The routes."""

    @application.get("/login")
    async def ask(to: str = "/") -> Response:
        return HTMLResponse(_page(path_within(to)))

    @application.post("/login")
    async def log_in(
        request: Request,
        token: Annotated[str, Form(max_length=MAX_TOKEN_CHARACTERS)],
        to: Annotated[str, Form()] = "/",
    ) -> Response:
        given, target = token.strip(), path_within(to)
        if not given.isascii() or not given.isprintable():
            return HTMLResponse(_page(target, "a token holds plain characters only"), 401)
        try:
            await Suite(request.app.state.doors, given).apps()
        except RefusedError as error:
            if error.status == HTTPStatus.UNAUTHORIZED:
                return HTMLResponse(_page(target, "the suite does not know this token"), 401)
            return HTMLResponse(_page(target, str(error)), 502)
        except LockstepError as error:
            return HTMLResponse(_page(target, str(error)), 503)
        response = RedirectResponse(target, status_code=303)
        response.set_cookie(
            TOKEN_COOKIE, given, httponly=True, samesite="strict",
            secure=request.url.scheme == "https",
        )  # fmt: skip
        return response

    @application.post("/logout")
    async def log_out() -> Response:
        response = RedirectResponse("/login", status_code=303)
        response.delete_cookie(TOKEN_COOKIE)
        return response


def _page(target: str, error: str = "") -> str:
    trouble = f'<p class="login-error" role="alert">{escape(error)}</p>' if error else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Log in · Lockstep</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="/assets/icon.svg"><link rel="stylesheet" href="/assets/console.css">
<script src="/assets/theme.js"></script></head>
<body class="login"><main><img src="/assets/icon.svg" alt="" width="40" height="40">
<h1>Log in to Lockstep</h1>
<p>Give the token of your suite. It stays in this browser until you close it.</p>
<form method="post" action="/login"><input type="hidden" name="to" value="{escape(target)}">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
{trouble}<button class="btn primary" type="submit">Log in</button></form></main></body></html>"""
