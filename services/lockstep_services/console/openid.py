"""Signing in at the OpenID Connect provider: authorization code flow with PKCE. What stands between
the two halves is in a cookie of that browser, so any console can end what another one began."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Final
from urllib.parse import urlencode

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from lockstep.clock import Randomness
from lockstep.events import LockstepError
from lockstep.frame.openid import Provider
from lockstep.rights import StrangerError
from lockstep.settings import OidcSettings
from lockstep_services.console.login import (
    TOKEN_COOKIE,
    is_private,
    login_page,
    path_within,
    refused,
)
from lockstep_services.console.suite import Suite

UNDER_WAY_COOKIE: Final = "lockstep_signin"
UNDER_WAY_S: Final = 600
MAX_COOKIE_CHARACTERS: Final = 3_900
"""Browsers drop longer ones without a word."""
NOT_KEPT: Final = {"Cache-Control": "no-store"}


@dataclass(frozen=True, slots=True)
class SignIn:
    """`own_url`: where browsers reach the console; empty: as the loopback's browser called it."""

    provider: Provider
    settings: OidcSettings
    randomness: Randomness
    own_url: str

    def add_to(self, application: FastAPI) -> None:
        """The routes."""
        application.add_api_route("/signin", self._begin)
        application.add_api_route("/signin/done", self._end)

    async def left(self, request: Request) -> Response:
        """Out of the provider too, where it offers that. Not by a redirect: the policy of the
        pages lets no form lead elsewhere."""
        document = await self.provider.document()
        if not document.end_session_endpoint:
            return RedirectResponse("/login", status_code=303)
        back = f"{self._own(request)}/login"
        asked = {"client_id": self.settings.client_id, "post_logout_redirect_uri": back}
        return _onward(_with(document.end_session_endpoint, asked))

    def _own(self, request: Request) -> str:
        return (self.own_url or str(request.base_url)).rstrip("/")

    async def _begin(self, request: Request, to: str = "/") -> Response:
        try:
            document = await self.provider.document()
        except LockstepError as error:
            return refused(error, partial(login_page, path_within(to), signs_in=True))
        state, nonce, verifier = (self.randomness.secret() for _ in range(3))
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest())
        asked = {
            "response_type": "code", "client_id": self.settings.client_id,
            "scope": self.settings.scope, "redirect_uri": f"{self._own(request)}/signin/done",
            "state": state, "nonce": nonce, "code_challenge_method": "S256",
            "code_challenge": challenge.rstrip(b"=").decode(),
        }  # fmt: skip
        url = _with(document.authorization_endpoint, asked)
        response = RedirectResponse(url, 303, NOT_KEPT)
        kept = json.dumps([state, nonce, verifier, path_within(to)]).encode()
        response.set_cookie(
            UNDER_WAY_COOKIE, base64.urlsafe_b64encode(kept).decode(), max_age=UNDER_WAY_S,
            path="/signin", httponly=True, samesite="lax", secure=is_private(request, self.own_url),
        )  # fmt: skip
        return response

    async def _end(
        self,
        request: Request,
        state: str = "",
        code: str = "",
        error: str = "",
        error_description: str = "",
    ) -> Response:
        target = "/"
        try:
            known, nonce, verifier, target = _under_way(request)
            if not hmac.compare_digest(known.encode(), state.encode()):
                raise StrangerError("this log-in was not begun in this browser, or is over")
            if error or not code:
                said = " ".join((error[:100], error_description[:300])).strip()
                raise StrangerError(f"the provider refuses: {said or 'it gives no code'}")
            given = await self.provider.redeemed(
                {
                    "grant_type": "authorization_code", "code": code, "code_verifier": verifier,
                    "redirect_uri": f"{self._own(request)}/signin/done",
                },
                nonce,
            )  # fmt: skip
            if len(given.access_token) > MAX_COOKIE_CHARACTERS:
                raise StrangerError("the provider's token is too long for a browser's cookie")
            await Suite(request.app.state.doors, given.access_token).ask("/v1/me")
        except LockstepError as failed:
            again = partial(login_page, path_within(target), signs_in=True)
            response = refused(failed, again)
        else:
            # Who comes from another site brings no strict cookie along: the page goes on itself.
            response = _onward(path_within(target))
            response.set_cookie(
                TOKEN_COOKIE, given.access_token, max_age=given.expires_in, httponly=True,
                samesite="strict", secure=is_private(request, self.own_url),
            )  # fmt: skip
        response.delete_cookie(UNDER_WAY_COOKIE, path="/signin")
        return response


def _under_way(request: Request) -> tuple[str, str, str, str]:
    try:
        kept = json.loads(base64.urlsafe_b64decode(request.cookies.get(UNDER_WAY_COOKIE, "")))
        state, nonce, verifier, target = (str(one) for one in kept)
    except (ValueError, TypeError) as error:
        raise StrangerError("this log-in was not begun in this browser, or is over") from error
    return state, nonce, verifier, target


def _with(url: str, asked: dict[str, str]) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urlencode(asked)}"


def _onward(target: str) -> Response:
    return HTMLResponse(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Lockstep</title>'
        f'<meta http-equiv="refresh" content="0;url={escape(target)}"></head>'
        f'<body><a href="{escape(target)}">Go on</a></body></html>',
        headers=NOT_KEPT,
    )
