"""Commands of `lockstep` by role: each that talks to a suite, allowed or refused as the table says.

They run by the command's real entry, in this process. A command that is new and has no line here
fails the scenario, and so does a row of the table of commands that no line agrees with.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from typer.testing import CliRunner, Result

from lockstep.cli.command import app as lockstep
from lockstep.cli.command import loaded
from lockstep.cli.refusals import HINT_TOKEN
from lockstep.rights import COMMANDS, ROUTES, Need, Permission, Principal, Scope, refusal
from lockstep.rights.table import Place

MINE: Final = "Mine"
OTHER: Final = "Other"
FILES: Final[Mapping[str, str]] = {
    "mine.siddhi": "@app:name('Mine') define stream In (n int); from In select n insert into Out;",
    "other.siddhi": "@app:name('Other') define stream In (n int); from In select n insert into O;",
    "rule.siddhi": "-- template: Rule\n-- parameter limit int = 5: At most.\n"
    "@app:name('${app}') define stream In (n int); from In[n > ${limit}] select n insert into Out;",
    "script.sql": "-- name: nobody\nselect 1 as one\n",
    "events.ndjson": '{"n": 1}\n',
    "rules.json": '{"n": "1++"}',
}
WITHOUT_SUITE: Final = frozenset({"archive list", "archive query"})
"""They read the archive's files, for whoever may read these."""
_SAID: Final = {401: HINT_TOKEN, 403: "has not the right to"}
ENVIRONMENT: Final = {"NO_COLOR": "1", "TERM": "dumb"}


@dataclass(frozen=True, slots=True)
class Line:
    """A command as it is typed, the route that it calls, and what the handler asks for on top."""

    words: str
    route: Place
    app: str = MINE
    more: Permission | None = None

    def expected(self, caller: Principal | None) -> int:
        """0: it is let in; else 401 or 403."""
        needs = [ROUTES[self.route]]
        if self.more is not None:
            needs.append(Need(Scope.APP, self.more))
        if caller is None and any(need.scope is not Scope.OPEN for need in needs):
            return 401
        return 403 if any(refusal(caller, need, self.app) for need in needs) else 0


@dataclass(frozen=True, slots=True)
class Typist:
    """Somebody at a terminal: with a token, or with what `lockstep login` kept in the folder."""

    label: str
    token: str
    principal: Principal | None
    password: str = ""


def _on(app: str) -> list[Line]:
    base = "/v1/apps/{app}"
    return [
        Line(f"status {app}", ("GET", f"{base}/status"), app),
        Line(f"flow {app}", ("GET", f"{base}/flow"), app),
        Line(f"figures {app}", ("GET", f"{base}/figures"), app),
        Line(f"failovers {app}", ("GET", "/v1/failovers"), app, Permission.VIEW),
        Line(f"versions {app}", ("GET", f"{base}/versions"), app),
        Line(f"versions {app} --show 1", ("GET", f"{base}/versions/{{number}}"), app),
        Line(f"asyncapi {app}", ("GET", f"{base}/asyncapi.json"), app),
        Line(f"query {app} 'from T select n'", ("POST", f"{base}/query"), app),
        Line(f"send {app} In '{{}}'", ("POST", f"{base}/streams/{{stream}}/events"), app),
        Line(f"replay {app} In events.ndjson",
             ("POST", f"{base}/streams/{{stream}}/events"), app),
        Line(f"simulate {app} --stream In --random rules.json", ("GET", base), app),
        Line(f"tail {app} Out -n 1", ("GET", f"{base}/streams/{{stream}}/sse"), app),
        Line(f"errors {app}", ("GET", f"{base}/errors"), app),
        Line(f"errors {app} --replay 1", ("POST", f"{base}/errors/replay"), app),
        Line(f"errors {app} --purge 1", ("POST", f"{base}/errors/purge"), app),
        Line(f"connectors {app}", ("GET", f"{base}/connectors"), app),
        Line(f"pause {app} nothing", ("POST", f"{base}/connectors/{{element}}/pause"), app),
        Line(f"resume {app} nothing", ("POST", f"{base}/connectors/{{element}}/resume"), app),
        Line(f"handover {app}", ("POST", f"{base}/handover"), app),
        Line(f"snapshot {app}", ("POST", f"{base}/snapshot"), app),
        Line(f"revisions {app}", ("GET", f"{base}/revisions"), app),
        Line(f"revisions {app} --delete x", ("DELETE", f"{base}/revisions/{{revision}}"), app),
        Line(f"restore {app} x", ("POST", f"{base}/restore"), app),
        Line(f"cancel {app}", ("DELETE", f"{base}/past"), app),
        Line(f"archive status {app}", ("GET", f"{base}/archive"), app),
        Line(f"archive erase {app} In --where 'n = 1'", ("POST", f"{base}/archive/erase"), app),
        Line(f"templates start Nothing {app}",
             ("PUT", "/v1/templates/{template}/instances/{app}"), app),
        Line(f"templates stop Nothing {app}",
             ("DELETE", "/v1/templates/{template}/instances/{app}"), app),
        Line(f"grant view --user nobody --app {app}", ("POST", "/v1/grants"), app,
             Permission.ADMINISTER),
        Line(f"revoke view --user nobody --app {app}", ("DELETE", "/v1/grants"), app,
             Permission.ADMINISTER),
        Line(f"tokens create trial --role view --app {app}", ("POST", "/v1/tokens"), app,
             Permission.ADMINISTER),
        Line(f"deploy {app.lower()}.siddhi --dry-run", ("POST", "/v1/preview"), app,
             Permission.DEPLOY),
    ]  # fmt: skip


LINES: Final = (
    *_on(MINE),
    *_on(OTHER),
    Line("list", ("GET", "/v1/apps")),
    Line("nodes", ("GET", "/v1/nodes")),
    Line("logs nobody", ("GET", "/v1/nodes/{node}/log")),
    Line("drain nobody --no-wait", ("PUT", "/v1/nodes/{node}/drain")),
    Line("drain nobody --undo", ("DELETE", "/v1/nodes/{node}/drain")),
    Line("rebalance --dry-run", ("POST", "/v1/rebalance")),
    Line("templates list", ("GET", "/v1/templates")),
    Line("templates show Nothing", ("GET", "/v1/templates/{template}")),
    Line("templates put rule.siddhi", ("PUT", "/v1/templates/{template}")),
    Line("templates remove Rule", ("DELETE", "/v1/templates/{template}")),
    Line("batch list", ("GET", "/v1/batch")),
    Line("batch show nobody", ("GET", "/v1/batch/{script}")),
    Line("batch history nobody", ("GET", "/v1/batch/{script}/runs")),
    Line("batch deploy script.sql --dry-run", ("POST", "/v1/batch")),
    Line("batch run nobody", ("POST", "/v1/batch/{script}/run")),
    Line("batch pause nobody", ("POST", "/v1/batch/{script}/pause")),
    Line("batch resume nobody", ("POST", "/v1/batch/{script}/resume")),
    Line("batch cancel nobody", ("POST", "/v1/batch/{script}/cancel")),
    Line("batch remove nobody", ("DELETE", "/v1/batch/{script}")),
    Line("users list", ("GET", "/v1/users")),
    Line("users add trial", ("PUT", "/v1/users/{user}")),
    Line("users passwd nobody --invite", ("POST", "/v1/users/{user}/invitation")),
    Line("users remove trial", ("DELETE", "/v1/users/{user}")),
    Line("groups list", ("GET", "/v1/groups")),
    Line("groups add trial", ("PUT", "/v1/groups/{group}")),
    Line("groups join trial nobody", ("PUT", "/v1/groups/{group}/members/{user}")),
    Line("groups leave trial nobody", ("DELETE", "/v1/groups/{group}/members/{user}")),
    Line("groups remove trial", ("DELETE", "/v1/groups/{group}")),
    Line("tokens list", ("GET", "/v1/tokens")),
    Line("tokens revoke nobody", ("DELETE", "/v1/tokens/{token}")),
    Line("audit --limit 1", ("GET", "/v1/audit")),
    # What changes apps comes last: a stream that is there would be followed for ever.
    Line("deploy mine.siddhi --no-wait", ("PUT", "/v1/apps"), MINE, Permission.DEPLOY),
    Line("deploy other.siddhi --no-wait", ("PUT", "/v1/apps"), OTHER, Permission.DEPLOY),
    Line("undeploy Mine", ("DELETE", "/v1/apps/{app}"), MINE),
    Line("undeploy Other", ("DELETE", "/v1/apps/{app}"), OTHER),
)
LOGIN: Final = Line("login {user} --password-file password", ("POST", "/v1/login"))
LOGOUT: Final = Line("logout", ("POST", "/v1/logout"))


def unlisted(lines: Sequence[Line] = (*LINES, LOGIN, LOGOUT)) -> list[str]:
    """Commands that talk to a suite and are tried by no line, and rows that no line agrees with."""
    tried = {" ".join(line.words.split()[:2]) for line in lines}
    found = []
    for name, need in COMMANDS.items():
        if need is None:
            continue
        parts = list(getattr(loaded(name), "commands", None) or [""])
        own = [line for line in lines if line.words.split()[0] == name]
        for part in parts:
            whole = f"{name} {part}".strip()
            is_tried = whole in tried if part else bool(own)
            if not is_tried and whole not in WITHOUT_SUITE:
                found.append(f"the command '{whole}' is tried by nobody")
        if own and need not in {ROUTES[line.route] for line in own}:
            found.append(
                f"the table says '{need}' of the command '{name}', and no route of it does"
            )
    return found


def tried(
    typists: Sequence[Typist], places: Mapping[str, str], folder: Path
) -> tuple[set[str], list[str]]:
    """The commands that were tried, and what was answered otherwise than written."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    wrong = unlisted()
    done: set[str] = set()
    for typist in typists:
        for line in LINES:
            done.add(line.words)
            wrong += _judged(typist, line, _run(typist, line.words, places, folder))
        if typist.password:
            (folder / "password").write_text(typist.password)
            own = Typist(typist.label, "", typist.principal)
            for line in (LOGIN, LOGOUT):
                assert typist.principal is not None
                words = line.words.format(user=typist.principal.name)
                done.add(line.words)
                wrong += _judged(own, line, _run(own, words, places, folder))
    return done, wrong


def _run(typist: Typist, words: str, places: Mapping[str, str], folder: Path) -> Result:
    given = ["--directory", str(folder / "kept")]
    for service, url in places.items():
        given += [f"--{service}", url]
    if typist.token:
        given += ["--token", typist.token]
    typed = [str(folder / one) if (folder / one).is_file() else one for one in shlex.split(words)]
    return CliRunner().invoke(lockstep, [*given, *typed], env=ENVIRONMENT)


def _judged(typist: Typist, line: Line, result: Result) -> list[str]:
    expected = line.expected(typist.principal)
    got = next((status for status, said in _SAID.items() if said in result.stderr), 0)
    crashed = result.exception is not None and not isinstance(result.exception, SystemExit)
    if got == expected and not crashed and (not expected or result.exit_code != 0):
        return []
    said = repr(result.exception) if crashed else result.stderr.strip().replace("\n", " ")
    return [f"{typist.label}: lockstep {line.words}: {got}, expected {expected or 'another answer'}"
            f" ({said[:200]})"]  # fmt: skip
