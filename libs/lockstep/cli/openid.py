"""Signing in at the suite's OpenID Connect provider by the device authorization flow (RFC 8628),
and keeping that up. By the standard library alone, as every short command needs it."""

from __future__ import annotations

import asyncio
import fcntl
import ipaddress
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from lockstep.cli.addresses import forget_session, keep_session, kept_session
from lockstep.clock import Clock
from lockstep.events import Fault, LockstepError, UnavailableError
from lockstep.tls import TlsFiles, calling

DEVICE: Final = "urn:ietf:params:oauth:grant-type:device_code"
TIMEOUT_S: Final = 20.0
MAX_ANSWER_BYTES: Final = 1_000_000
MAX_WAIT_S: Final = 1_800
SLOWER_S: Final = 5
EARLY_MS: Final = 30_000
"""A token that runs out so soon is refreshed before it is used."""
ENDPOINTS: Final = ("device_authorization_endpoint", "token_endpoint", "revocation_endpoint")


class SignInError(LockstepError):
    """The provider refuses."""

    fault = Fault.USER


def discovered(issuer: str, authority: str) -> dict[str, str]:
    """The provider's endpoints. SignInError where it offers no device flow; UnavailableError."""
    found = _ask(issuer.rstrip("/") + "/.well-known/openid-configuration", None, authority)
    if found.get("issuer") != issuer:
        raise SignInError(f"{issuer} calls itself {str(found.get('issuer'))[:200]}")
    endpoints = {name: str(found.get(name) or "") for name in ENDPOINTS}
    if not endpoints["device_authorization_endpoint"]:
        raise SignInError(
            f"{issuer} offers no device authorization flow",
            hint="switch it on for the client there, or give a token with --token",
        )
    return endpoints


def signed_in(
    offered: Mapping[str, str], authority: str, clock: Clock, tell: Callable[[str, str], None]
) -> dict[str, Any]:
    """A session, when the person has agreed in a browser. `offered`: the suite's `issuer`,
    `client_id` and `scope`. `tell` is given the address to open and the code. SignInError,
    UnavailableError."""
    endpoints, client = discovered(offered["issuer"], authority), offered["client_id"]
    begun = _ask(
        endpoints["device_authorization_endpoint"],
        {"client_id": client, "scope": offered["scope"]},
        authority,
    )
    _refuse(begun, "device_code", "user_code", "verification_uri")
    address = begun.get("verification_uri_complete") or begun["verification_uri"]
    tell(str(address), str(begun["user_code"]))
    interval_s = float(begun.get("interval", 5))
    given_s = min(float(begun.get("expires_in", MAX_WAIT_S)), MAX_WAIT_S)
    until_ms = clock.monotonic_ms() + int(given_s * 1000)
    form = {"grant_type": DEVICE, "device_code": str(begun["device_code"]), "client_id": client}
    while clock.monotonic_ms() < until_ms:
        asyncio.run(clock.sleep_ms(int(interval_s * 1000)))
        try:
            answer = _ask(endpoints["token_endpoint"], form, authority)
        except UnavailableError:
            interval_s *= 2
            continue
        if answer.get("error") == "slow_down":
            interval_s += SLOWER_S
        elif answer.get("error") != "authorization_pending":
            kept = {**endpoints, "client_id": client, "authority": authority}
            return _session(answer, kept, clock)
    raise SignInError("nobody agreed in time", hint="run `lockstep login` again")


def refreshed(directory: Path, coordinator: str, clock: Clock) -> str | None:
    """The token of who signed in at that suite, a new one where the old one is about to run out;
    None: nobody did. Commands at the same time refresh once. SignInError when the provider does
    not go on with it; UnavailableError."""
    kept = kept_session(directory, coordinator)
    if kept is None or "token_endpoint" not in kept:
        return None
    if clock.now_ms() < kept["expires_ms"] - EARLY_MS:
        return str(kept["token"])
    with _alone(directory):
        kept = kept_session(directory, coordinator)
        if kept is None or clock.now_ms() < kept["expires_ms"] - EARLY_MS:
            return None if kept is None else str(kept["token"])
        if not kept["refresh_token"]:
            return str(kept["token"])
        form = {"grant_type": "refresh_token", "refresh_token": kept["refresh_token"]}
        form["client_id"] = kept["client_id"]
        try:
            session = _session(_ask(kept["token_endpoint"], form, kept["authority"]), kept, clock)
        except UnavailableError:
            if clock.now_ms() < kept["expires_ms"]:
                return str(kept["token"])
            raise
        except SignInError:
            forget_session(directory)
            raise
        keep_session(directory, coordinator, session)
        return str(session["token"])


def signed_out(session: Mapping[str, Any]) -> None:
    """The provider forgets the refresh token too, where it offers that. UnavailableError."""
    if session["revocation_endpoint"] and session["refresh_token"]:
        form = {"token": session["refresh_token"], "client_id": session["client_id"]}
        _ask(session["revocation_endpoint"], form, session["authority"])


def _session(answer: Any, kept: Mapping[str, Any], clock: Clock) -> dict[str, Any]:
    """A refresh token that is not replaced stays."""
    _refuse(answer, "access_token")
    return {
        **kept,
        "token": str(answer["access_token"]),
        "expires_ms": clock.now_ms() + int(float(answer.get("expires_in", 300)) * 1000),
        "refresh_token": answer.get("refresh_token") or kept.get("refresh_token", ""),
    }


def _refuse(answer: Mapping[str, Any], *wanted: str) -> None:
    """SignInError for an OAuth error, and for an answer without what is wanted."""
    if lacking := [name for name in wanted if "error" not in answer and name not in answer]:
        raise SignInError(f"the OpenID Connect provider's answer lacks {', '.join(lacking)}")
    if "error" in answer:
        why = answer.get("error_description") or answer["error"]
        raise SignInError(
            f"the OpenID Connect provider refuses: {str(why)[:300]}", hint="run `lockstep login`"
        )


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """A refresh token is good once, with many providers."""
    with (directory / "session.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _ask(url: str, form: Mapping[str, str] | None, authority: str) -> dict[str, Any]:
    """The JSON that is answered, an OAuth error too. UnavailableError."""
    parts = urlsplit(url)
    host, context = parts.hostname or "", calling(TlsFiles(authority))
    connection: HTTPConnection
    if parts.scheme == "https":
        connection = HTTPSConnection(host, parts.port, timeout=TIMEOUT_S, context=context)
    elif parts.scheme == "http" and _is_here(host):
        connection = HTTPConnection(host, parts.port, timeout=TIMEOUT_S)
    else:
        raise SignInError(f"the OpenID Connect provider is asked by https alone, not at {url}")
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    body = None if form is None else urlencode(form)
    kind = {} if form is None else {"Content-Type": "application/x-www-form-urlencoded"}
    try:
        connection.request("GET" if form is None else "POST", target, body, kind)
        response = connection.getresponse()
        payload = response.read(MAX_ANSWER_BYTES)
        answer = json.loads(payload) if payload else {}
    except (OSError, HTTPException, ValueError) as error:
        raise UnavailableError(f"cannot ask the provider at {url}: {error}") from error
    finally:
        connection.close()
    is_told = isinstance(answer, dict) and "error" in answer and response.status < 500
    if not isinstance(answer, dict) or (response.status >= 300 and not is_told):
        raise UnavailableError(f"the provider answers {response.status} at {url}")
    return answer


def _is_here(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"
