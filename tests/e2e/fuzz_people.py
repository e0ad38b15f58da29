"""Who comes to the doors of the trial: who may everything, who may nothing there, and who is not
known, or not any more."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from lockstep.clock import SystemClock

CLUSTER: Final = "the-cluster-secret-of-this-trial"
ROOT: Final = "correct horse battery staple"
PLANTED: Final = "hunter2-hunter2-hunter2"
"""A password that the drawn bodies hold: no answer and no log may repeat it."""
EXPIRES_MS: Final = 1
_CLOCK: Final = SystemClock()


@dataclass(frozen=True, slots=True)
class People:
    """`good` and `weak`: tokens; `bad`: header lines; `texts`: what nobody may be told."""

    good: str
    weak: str
    bad: Sequence[tuple[str, str]]
    texts: Sequence[str]


async def admitted(session: aiohttp.ClientSession, base: str, app: str) -> People:
    """Makes a user who administers, and tokens: one that lives, one that ran out, one revoked, and
    a session that was ended."""

    async def tell(method: str, path: str, body: Any, shown: str = CLUSTER) -> Any:
        headers = {"Authorization": f"Bearer {shown}"}
        async with session.request(method, base + path, json=body, headers=headers) as response:
            answer = await response.json()
            assert response.status < 400, (path, response.status, answer)
            return answer

    await tell("PUT", "/v1/users/root", {"role": "administer", "password": ROOT})
    grants = [{"role": "administer"}]
    good = (await tell("POST", "/v1/tokens", {"name": "good", "grants": grants}))["token"]
    ended = (await tell("POST", "/v1/login", {"user": "root", "password": ROOT}))["token"]
    await tell("POST", "/v1/logout", None, ended)
    weak = await tell(
        "POST", "/v1/tokens", {"name": "weak", "grants": [{"role": "view", "app": f"Not{app}"}]}
    )
    short = {"name": "short", "grants": grants, "expires_in_ms": EXPIRES_MS}
    expired = (await tell("POST", "/v1/tokens", short))["token"]
    revoked = await tell("POST", "/v1/tokens", {"name": "revoked", "grants": grants})
    await tell("DELETE", f"/v1/tokens/{revoked['id']}", None)
    secrets = [good, ended, weak["token"], expired, revoked["token"]]
    return People(good, weak["token"], _bad(secrets), secrets)


def _bad(tokens: Sequence[str]) -> list[tuple[str, str]]:
    good, ended, weak, expired, revoked = tokens
    forged = good[:-1] + ("A" if good[-1] != "A" else "B")
    unsigned = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').decode().rstrip("=")
    claims = (
        base64.urlsafe_b64encode(b'{"sub":"root","groups":["administer"]}').decode().rstrip("=")
    )
    basic = base64.b64encode(f"root:{PLANTED}".encode()).decode()
    return [
        ("", ""),
        ("Authorization", f"Bearer {forged}"),
        ("Authorization", f"Bearer {ended}"),
        ("Authorization", f"Bearer {expired}"),
        ("Authorization", f"Bearer {revoked}"),
        ("Authorization", f"Bearer {unsigned}.{claims}."),
        ("Authorization", f"Bearer {CLUSTER[:-1]}"),
        ("Authorization", f"Bearer {weak[:20]}"),
        ("Authorization", "Bearer " + "x" * 7_000),
        ("Authorization", "Bearer"),
        ("Authorization", f"Basic {basic}"),
        ("Authorization", "Basic %%%"),
        ("Authorization", "Negotiate " + basic),
        ("Cookie", f"lockstep_token={forged}"),
        ("Cookie", f"lockstep_console={forged}"),
        ("Cookie", "lockstep_token=" + "y" * 3_000),
        ("X-Forwarded-User", "root"),
        ("X-Lockstep-Forwarded", "1"),
        ("?", forged),
        ("?", "wrong"),
    ]
