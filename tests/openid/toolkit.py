"""A real OpenID Connect provider for tests: django-oauth-toolkit in a process and an environment of
its own, and a person who fills in its forms."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import subprocess
from collections.abc import AsyncIterator, Mapping
from html import unescape
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin

import httpx

from tests.needed import lacking

ROOT: Final = Path(__file__).parents[2]
PYTHON: Final = ROOT / ".venv" / "openid" / "bin" / "python"
PROGRAM: Final = Path(__file__).with_name("django_provider.py")
CONSOLE, COMMAND = "lockstep-console", "lockstep-command"
SECRET: Final = "secret-of-the-console"
PASSWORD: Final = "correct horse battery"
START_LIMIT_S: Final = 240
_FIELD: Final = re.compile(r"<input\b[^>]*>")
_ATTRIBUTE: Final = re.compile(r'(\w+)="([^"]*)"')


class Toolkit:
    """The running provider, as its administrator reaches it."""

    def __init__(self, process: asyncio.subprocess.Process, issuer: str) -> None:
        self._process = process
        self.issuer = issuer

    async def rotate(self) -> None:
        """A new key signs; the one before is still published."""
        await self._tell({"do": "rotate"})

    async def set_active(self, user: str, *, active: bool) -> None:
        """Lets somebody in again, or not any more."""
        await self._tell({"do": "active", "user": user, "active": active})

    def settings(self, client: str, **more: str) -> Mapping[str, str]:
        """Of a suite that trusts it."""
        given = {"issuer": self.issuer, "audience": "lockstep", "client_id": client, **more}
        return {f"LOCKSTEP_OIDC__{name.upper()}": value for name, value in given.items()}

    async def _tell(self, told: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(told).encode() + b"\n")
        await self._process.stdin.drain()
        assert json.loads(await self._process.stdout.readline()) == {"done": told["do"]}


@contextlib.asynccontextmanager
async def running_toolkit(
    folder: Path, redirect: str, *, lives_s: int = 300
) -> AsyncIterator[Toolkit]:
    """On the loopback, with ann in the group staff. `lives_s`: of access tokens."""
    if not PYTHON.exists():
        lacking("no OpenID Connect provider: scripts/openid .venv/openid installs one")
    with (folder / "provider.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            str(PYTHON), str(PROGRAM), str(folder), redirect, SECRET, str(lives_s),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
        )  # fmt: skip
    try:
        assert process.stdout is not None
        async with asyncio.timeout(START_LIMIT_S):
            said = await process.stdout.readline()
        assert said, (folder / "provider.log").read_text()
        yield Toolkit(process, json.loads(said)["issuer"])
    finally:
        process.kill()
        await process.wait()


class Visitor:
    """A person's browser at the provider: it keeps cookies and follows forms, without scripts."""

    def __init__(self, client: httpx.AsyncClient, user: str = "ann") -> None:
        self._client = client
        self._user = user

    async def agree(self, address: str, within: str, **first: str) -> str:
        """Logs in and says yes on every form, until it is sent out of `within`: to where. `first`:
        what the first form that asks for it is given. Empty: the provider's last page."""
        response = await self._client.get(address)
        for _ in range(10):
            if response.is_redirect:
                target = urljoin(str(response.url), response.headers["location"])
                if not target.startswith(within):
                    return target
                response = await self._client.get(target)
                continue
            form = _fields(response.text)
            if not form:
                return ""
            if "username" in form:
                form |= {"username": self._user, "password": PASSWORD}
            form |= {name: value for name, value in first.items() if name in form}
            if 'value="accept"' in response.text:
                form["action"] = "accept"
            headers = {"Referer": str(response.url)}
            response = await self._client.post(str(response.url), data=form, headers=headers)
            assert response.status_code < 400, response.text
        raise AssertionError(f"the provider asks without an end: {response.text[:500]}")


def _fields(page: str) -> dict[str, str]:
    """Of the form on a page."""
    if "<form" not in page:
        return {}
    found = [dict(_ATTRIBUTE.findall(one)) for one in _FIELD.findall(page)]
    return {one["name"]: unescape(one.get("value", "")) for one in found if "name" in one}
