"""Code of an app's author (`define function`) by role: who may deploy alone is refused by every way
in, and whoever has the right to code is let in, everywhere or on that one app.

What only reads a text (checking it, previewing it, its plan) runs none of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
from typer.testing import CliRunner

from lockstep.cli.command import app as lockstep
from lockstep.rights import Role
from lockstep.siddhiql import parse
from lockstep.siddhiql.ast import FunctionDefinition

CODED: Final = "Coded"
PLAIN: Final = "@app:name('Coded') define stream In (n int); from In select n insert into Out;"
WITH_CODE: Final = (
    "@app:name('Coded') define function twice[python] return int { return 2 * data[0] };"
    " define stream In (n int); from In select twice(n) as n insert into Out;"
)
TEMPLATE: Final = "-- template: Code\n" + WITH_CODE.replace("'Coded'", "'${app}'")
HOLLOW: Final = (
    "-- template: Hollow\n-- parameter word string = 'a': Any.\n@app:name('${app}')"
    " define stream In (n int); from In select n, ${word} as word insert into Out;"
)
BREAKING_OUT: Final = "'; define function f[python] return int { return 1 }; --"
SCRIPT: Final = "# name: coded\nprint('never run')\n"


@dataclass(frozen=True, slots=True)
class Coder:
    """`codes`: code of app Coded; `codes_all`: what belongs to no app."""

    label: str
    shown: str
    codes: bool
    codes_all: bool


@dataclass(frozen=True, slots=True)
class Way:
    """One way in. `is_all`: it belongs to no app."""

    label: str
    method: str
    path: str
    body: Any
    is_all: bool = False


def coders(shown: Mapping[tuple[Role, str], str]) -> Iterator[Coder]:
    """Of the tokens that were given for app Coded and everywhere."""
    for (role, app), one in shown.items():
        codes = role in (Role.CODE, Role.ADMINISTER)
        yield Coder(f"{role} on {app}", one, codes, codes and app == "*")


WAYS: Final = (
    Way("deploy", "PUT", "/v1/apps", {"text": WITH_CODE}),
    Way("deploy by POST", "POST", "/v1/apps", {"text": WITH_CODE}),
    Way("deploy with a past", "PUT", "/v1/apps",
        {"text": WITH_CODE, "past": {"from_ms": 0, "output": "archive"}}),
    Way("deploy by the older route", "PUT", "/siddhi-apps", WITH_CODE),
    Way("a new app by the older route", "POST", "/siddhi-apps", WITH_CODE),
    Way("a template", "PUT", "/v1/templates/Code", {"text": TEMPLATE}, is_all=True),
    Way("a script in Python", "POST", "/v1/batch",
        {"scripts": [{"file": "coded.py", "text": SCRIPT}], "dry_run": True}, is_all=True),
    Way("a script in SQL", "POST", "/v1/batch",
        {"scripts": [{"file": "coded.sql", "text": "select 1"}], "dry_run": True}, is_all=True),
)  # fmt: skip


class Trial:
    """At one coordinator, told by an administrator's token."""

    def __init__(self, session: aiohttp.ClientSession, url: str, ruling: str) -> None:
        self._session = session
        self._url = url
        self._ruling = ruling
        self.asked = 0
        self.wrong: list[str] = []

    async def run(self, folder: Path) -> None:
        """All of it; the app and the templates are gone in the end."""
        shown = {
            (role, app): await self._token(role, app)
            for role in (Role.DEPLOY, Role.CODE, Role.ADMINISTER)
            for app in (CODED, "*", "Elsewhere")
        }
        for one in coders({key: value for key, value in shown.items() if key[1] != "Elsewhere"}):
            for is_upgrade in (False, True):
                for way in WAYS:
                    await self._way(one, way, is_upgrade=is_upgrade)
        await self._elsewhere(shown[(Role.CODE, "Elsewhere")], shown[(Role.DEPLOY, CODED)])
        await self._templates(shown[(Role.DEPLOY, "*")])
        await self._reading(shown[(Role.DEPLOY, CODED)], folder)

    async def _way(self, one: Coder, way: Way, *, is_upgrade: bool) -> None:
        await self._gone()
        if is_upgrade:
            await self._told("PUT", "/v1/apps", {"text": PLAIN})
        status, said = await self._ask(one.shown, way.method, way.path, way.body)
        may = one.codes_all if way.is_all else one.codes
        what = f"{one.label}: {way.label}{' as an upgrade' if is_upgrade else ''}"
        self._expect(what, may=may, status=status, said=said)
        text = await self._text()
        if not may and "function" in text:
            self.wrong.append(f"{what}: the code is there")

    async def _elsewhere(self, code_elsewhere: str, deploy_here: str) -> None:
        """The right to code another app is none here, and an upgrade that keeps code needs it."""
        await self._gone()
        status, said = await self._ask(code_elsewhere, "PUT", "/v1/apps", {"text": WITH_CODE})
        self._expect("code on another app", may=False, status=status, said=said)
        await self._told("PUT", "/v1/apps", {"text": WITH_CODE})
        changed = WITH_CODE.replace("2 * data[0]", "3 * data[0]")
        status, said = await self._ask(deploy_here, "PUT", "/v1/apps", {"text": changed})
        self._expect("deploy: other code in the place of code", may=False, status=status, said=said)

    async def _templates(self, deploys: str) -> None:
        """A value of a parameter is a value, whatever it holds."""
        await self._gone()
        status, said = await self._ask(deploys, "PUT", "/v1/templates/Hollow", {"text": HOLLOW})
        self._expect("deploy: a template without code", may=True, status=status, said=said)
        await self._ask(
            deploys, "PUT", f"/v1/templates/Hollow/instances/{CODED}",
            {"values": {"word": BREAKING_OUT}},
        )  # fmt: skip
        text = await self._text()
        if text and any(isinstance(one, FunctionDefinition) for one in parse(text).definitions):
            self.wrong.append("a template's value became code")
        await self._gone()
        await self._told("DELETE", "/v1/templates/Hollow")
        await self._told("DELETE", "/v1/templates/Code", expected=(200, 404))

    async def _reading(self, deploys: str, folder: Path) -> None:
        """Checking and previewing read a text; a file that its code would write is not there."""
        mark = folder / "ran"
        body = f"open({str(mark)!r}, 'w').close(); return 1"
        text = WITH_CODE.replace("return 2 * data[0]", body)
        status, said = await self._ask(deploys, "POST", "/v1/validate", {"text": text})
        if status != 200 or not json.loads(said)["valid"]:
            self.wrong.append(f"validate answers {status}: {said[:200]}")
        status, said = await self._ask(deploys, "POST", "/v1/preview", {"text": text})
        self._expect("preview of a text with code", may=True, status=status, said=said)
        (folder / "coded.siddhi").write_text(text)
        for command in ("validate", "explain"):
            done = CliRunner().invoke(lockstep, [command, str(folder / "coded.siddhi")])
            if done.exit_code != 0:
                self.wrong.append(f"lockstep {command}: {done.output[:200]}")
        if mark.exists():
            self.wrong.append("code ran while its text was only read")

    def _expect(self, what: str, *, may: bool, status: int, said: str) -> None:
        # What comes behind the door may find another fault: there is no archive, the app is there.
        self.asked += 1
        if may == (status == 403):
            self.wrong.append(f"{what}: {status}, expected {'another answer' if may else 403}")
        if not may and "the right to" not in said:
            self.wrong.append(f"{what}: the refusal does not say which right: {said[:200]}")

    async def _ask(self, shown: str, method: str, path: str, body: Any) -> tuple[int, str]:
        given = {"data": body} if isinstance(body, str) else {"json": body}
        headers = {"Authorization": f"Bearer {shown}"}
        async with self._session.request(
            method, self._url + path, headers=headers, **given
        ) as response:
            return response.status, await response.text()

    async def _told(
        self, method: str, path: str, body: Any = None, expected: tuple[int, ...] = (200, 201)
    ) -> str:
        status, said = await self._ask(self._ruling, method, path, body)
        assert status in expected, (method, path, status, said)
        return said

    async def _gone(self) -> None:
        await self._told("DELETE", f"/v1/apps/{CODED}?purge=true", expected=(200, 404))

    async def _text(self) -> str:
        status, said = await self._ask(self._ruling, "GET", f"/v1/apps/{CODED}", None)
        return "" if status == 404 else str(json.loads(said)["text"])

    async def _token(self, role: Role, app: str) -> str:
        body = {"name": f"{role}-{app}".replace("*", "all"), "grants": [{"role": role, "app": app}]}
        return str(json.loads(await self._told("POST", "/v1/tokens", body))["token"])
