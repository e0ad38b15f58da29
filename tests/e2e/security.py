"""A month of a company's log-ins and sessions, with known attacks among them, through the suite of
processes with the two sample apps; what they say is compared with what really happened. The alerts
about log-ins also come to a mail server and a web hook.

`make e2e SCENARIO=security` prints a table of what was found and what was missed, and why.
`ARGS="--seed 7"` draws another month, `ARGS="--pictures DIR"` looks at the dashboards in Chromium;
`ARGS="--executor spark"` runs the apps on Spark, `ARGS="--in-process"` the apps alone, without the
suite: they give the same rows.
Last line:
`security: ok events=<n> attacks=<n> alerts=<n> recall=<x> precision=<x>`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lockstep.bus import LogName
from lockstep.cli.client import Client
from lockstep.cli.commands.samples import FOLDER
from lockstep.cli.demo.feed import feed
from lockstep.cli.demo.published import Published, read_published
from lockstep.cli.processes import PLAN, ProcessSuite
from lockstep.cli.replay import send_retrying
from lockstep.clock import SystemClock
from lockstep.frame import World
from lockstep.testing import VirtualApp
from tests.e2e.harness import Way, replicas_of, tried
from tests.e2e.security_boards import CONSOLE, look
from tests.e2e.security_duty import Duty
from tests.e2e.security_traffic import COMPANY_VPN, HOUR_MS, Attack, Event, Traffic, drawn

CLOCK: Final = SystemClock()
LOGINS: Final = "LoginAlerts"
SESSIONS: Final = "UserSessions"
TEXTS: Final = {LOGINS: "login_alerts", SESSIONS: "user_sessions"}
PHASE_TIMEOUT_MS: Final = 600_000
POLL_MS: Final = 250
BATCH_EVENTS: Final = 1_000
ECHO_MS: Final = 4 * HOUR_MS
"""So long behind an attack what is said of its victim is about the attack: the owner comes back."""
RECALL_AT_LEAST: Final = 0.7
PRECISION_AT_LEAST: Final = 0.7
"""What the samples promise over the seed of this trial: below that a rule is broken."""


@dataclass(frozen=True, slots=True)
class Alert:
    """A row of either app's stream of that name; `info` is no alert."""

    at_ms: int
    kind: str
    severity: str
    user: str
    ip: str
    detail: str

    def is_about(self, attack: Attack) -> bool:
        """From its address, or of its victim while it goes on and shortly after."""
        if self.ip == attack.ip:
            return True
        return (
            self.user in attack.users and attack.start_ms <= self.at_ms <= attack.end_ms + ECHO_MS
        )


@dataclass(frozen=True, slots=True)
class Findings:
    """The alerts beside the truth."""

    attacks: Sequence[Attack]
    alerts: Sequence[Alert]

    @property
    def loud(self) -> list[Alert]:
        """Those that somebody would be called for."""
        return [alert for alert in self.alerts if alert.severity != "info"]

    def caught(self, attack: Attack) -> bool:
        """Whether any alert is about it."""
        return any(alert.is_about(attack) for alert in self.loud)

    def is_true(self, alert: Alert) -> bool:
        """Whether it is about any attack."""
        return any(alert.is_about(attack) for attack in self.attacks)

    @property
    def recall(self) -> float:
        """The share of the attacks that were caught."""
        return sum(map(self.caught, self.attacks)) / len(self.attacks)

    @property
    def precision(self) -> float:
        """The share of the alerts that are about an attack."""
        return sum(map(self.is_true, self.loud)) / max(1, len(self.loud))

    def table(self) -> list[str]:
        """A line per kind of attack with what was missed and why, then one per kind of alert."""
        lines = [f"{'attack':22}{'there':>7}{'caught':>8}  missed"]
        for kind in dict.fromkeys(attack.kind for attack in self.attacks):
            of = [attack for attack in self.attacks if attack.kind == kind]
            missed = Counter(one.hidden or "not hidden" for one in of if not self.caught(one))
            why = ", ".join(f"{count} {reason}" for reason, count in missed.items()) or "–"
            lines.append(f"{kind:22}{len(of):7}{len(of) - missed.total():8}  {why}")
        lines.append(f"{'alert':22}{'there':>7}{'true':>8}  the first that is not")
        for kind, severity in sorted({(one.kind, one.severity) for one in self.alerts}):
            said = [one for one in self.alerts if (one.kind, one.severity) == (kind, severity)]
            false = [one for one in said if not self.is_true(one)]
            name = kind if severity != "info" else f"({kind}, info)"
            why = f"{false[0].user}: {false[0].detail}" if false else "–"
            lines.append(f"{name:22}{len(said):7}{len(said) - len(false):8}  {why}")
        return lines


async def main(seed: int, way: Way, pictures: Path | None = None) -> int:
    """Runs it; gives the exit code."""
    traffic = drawn(seed)

    async def trial(suite: ProcessSuite, world: World) -> bool:
        async with Client(suite.addresses) as client:
            await _deployed(client, duty)
            sent_ms = CLOCK.monotonic_ms()
            logins, actions = await asyncio.gather(
                _through(client, world, LOGINS, traffic.logins),
                _through(client, world, SESSIONS, traffic.actions),
            )
            seconds = (CLOCK.monotonic_ms() - sent_ms) / 1_000
            is_told = await duty.got(logins.rows["Alert"])
            mails, posts = len(duty.mails), len(duty.posts)
            if pictures is not None:
                await look(suite, client, drawn(seed + 1, people=10, days=15, each=1), pictures)
        print(
            f"security: {len(logins.rows['Alert'])} alerts about log-ins: {mails} mails, "
            f"{posts} requests, again={duty.again}"
        )
        return _judge(traffic, (logins, actions), seconds, is_told=is_told)

    duty = Duty()
    async with duty.there():
        return await tried(
            "security", trial, way, plan=PLAN if pictures is None else (*PLAN, CONSOLE)
        )


async def _deployed(client: Client, duty: Duty) -> None:
    for name in TEXTS.values():
        text = Path(FOLDER / f"{name}.siddhi").read_text("utf-8")
        if name == TEXTS[LOGINS]:
            text = duty.called_by(text)
        await send_retrying(lambda text=text: client.deploy(text))  # type: ignore[misc]
    for app in TEXTS:
        await _until(client, app, lambda replica: replica["role"] == "active" and replica["ready"])
    url = f"{client.addresses.presenter}/v1/apps/{LOGINS}/query"
    query = {"query": f"select '{COMPANY_VPN}' as ip insert into TrustedAddress"}
    await send_retrying(lambda: client.request("POST", url, json_body=query))


async def _through(client: Client, world: World, app: str, events: Iterable[Event]) -> Published:
    """What the app publishes of the events."""
    fed = await feed(
        client, app, events, key=f"security-{app}", advance=lambda _: None,
        batch_events=BATCH_EVENTS,
    )  # fmt: skip
    await _until(client, app, lambda replica: replica["settled"] >= fed.last_position)
    name: LogName = max(await world.bus.logs(app))
    return await read_published(await world.bus.output_log(name))


async def _until(client: Client, app: str, reached: Callable[[dict[str, Any]], bool]) -> None:
    deadline_ms = CLOCK.monotonic_ms() + PHASE_TIMEOUT_MS
    replicas: list[dict[str, Any]] = []
    while CLOCK.monotonic_ms() < deadline_ms:
        replicas = await replicas_of(client, app)
        if any(map(reached, replicas)):
            return
        await CLOCK.sleep_ms(POLL_MS)
    raise TimeoutError(f"the replicas of {app} did not get there: {replicas}")


def alone(seed: int) -> int:
    """The apps in this process, on the reference; gives the exit code."""
    traffic = drawn(seed)
    alerts: list[Alert] = []
    for name, events in ((LOGINS, traffic.logins), (SESSIONS, traffic.actions)):
        with VirtualApp(Path(FOLDER / f"{TEXTS[name]}.siddhi").read_text("utf-8")) as app:
            if name == LOGINS:
                query = f"select '{COMPANY_VPN}' as ip insert into TrustedAddress"
                app.write(query, request_id="trusted")
            for stream, at_ms, row in events:
                names = app.plan.schemas[stream].names
                app.send(stream, [row[one] for one in names], timestamp_ms=at_ms)
            alerts += [Alert(one.timestamp_ms, *one.data[:5]) for one in app.stream("Alert")]
    found = Findings(traffic.attacks, alerts)
    for line in found.table():
        print(f"security: {line}")
    ok = found.recall >= RECALL_AT_LEAST and found.precision >= PRECISION_AT_LEAST
    print(f"security: in process: {'ok' if ok else 'FAILED'} {_figures(found)}")
    return 0 if ok else 1


def _figures(found: Findings) -> str:
    return (
        f"attacks={len(found.attacks)} alerts={len(found.loud)} recall={found.recall:.2f} "
        f"precision={found.precision:.2f}"
    )


def _judge(
    traffic: Traffic, published: Sequence[Published], seconds: float, *, is_told: bool
) -> bool:
    alerts = [Alert(*row[:6]) for one in published for row in one.rows["Alert"]]
    found = Findings(traffic.attacks, alerts)
    twice = sum(one.duplicated + one.out_of_order for one in published)
    events = len(traffic.logins) + len(traffic.actions)
    ok = (
        is_told
        and not twice
        and found.recall >= RECALL_AT_LEAST
        and found.precision >= PRECISION_AT_LEAST
    )
    for line in found.table():
        print(f"security: {line}")
    print(f"security: {events / seconds:,.0f} events/s, duplicated={twice}")
    print(f"security: {'ok' if ok else 'FAILED'} events={events} {_figures(found)}")
    return ok


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--pictures", type=Path, help="look at the dashboards, and keep pictures here"
    )
    parser.add_argument("--in-process", action="store_true", help="the apps alone, no suite")
    Way.ask(parser)
    parser.set_defaults(executor="reference")
    options = parser.parse_args()
    if options.in_process:
        sys.exit(alone(options.seed))
    sys.exit(asyncio.run(main(options.seed, Way.of(options), options.pictures)))
