"""What a seed means: a cluster, an app, clients, and the faults that will befall them. Pure."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Final

from tests.simulation.apps import APPS, FLEET_WITH_TABLE, FLEETS, App

FIRST_FAULT_MS: Final = 1_500
LAST_FAULT_MS: Final = 9_000
LOAD_UNTIL_MS: Final = 10_000
STORM_SHARE: Final = 0.5
STORM_MS: Final = 900
WARM_SHARE: Final = 0.15
FLEET_SHARE: Final = 0.2
HEAVY_SHARE: Final = 0.2
FLEET_STALLS: Final = 0.05
"""Many units share a connection, and a message that stalls holds up all behind it."""

TABLE_SHARE: Final = 0.3
"""Of the fleets, by a draw of its own: the others are what they were before there were tables."""

FLEETS_AGAIN: Final = 0.2
"""How many of them are undeployed in the middle, and deployed again as they were."""

PARALLEL: Final = (2, 3, 4)
DURATIONS_MS: Final = (150, 300, 800, 1_200, 1_500, 2_500, 4_000)
SERVERS: Final = ("bus", "leases", "store", "database")
MODES: Final = ("any", "failover", "all", "bus")


@dataclass(frozen=True, order=True)
class Fault:
    """`kind` befalls `target` at a time, for a while; `detail` depends on the kind."""

    at_ms: int
    kind: str
    target: str
    for_ms: int = 0
    detail: str = ""

    def __str__(self) -> str:
        how_long = f" for {self.for_ms} ms" if self.for_ms else ""
        return f"{self.kind} {self.target}{how_long} {self.detail}".strip()


@dataclass(frozen=True)
class Scenario:
    """Everything that is drawn before time begins."""

    seed: int
    app: App
    nodes: tuple[str, ...]
    replicas: int
    clients: tuple[str, ...]
    every_ms: int
    skews_ms: tuple[int, ...]
    stall_share: float
    faults: tuple[Fault, ...]
    farewell: str = ""
    """What becomes of the app at the very end: `undeploy`, `purge` or nothing."""

    parallel: int = 0
    """Into how many partitions the app is cut; 0: it is no fleet."""


def scenario_of(seed: int) -> Scenario:
    """What a seed means: a fleet for some, for the others one app in one place."""
    share = random.Random(f"kind {seed}").random()
    return draw_fleet(seed) if share < FLEET_SHARE else draw(seed)


def draw_fleet(seed: int) -> Scenario:
    """The scenario of a seed with an app that is cut, and other cuts of it meanwhile."""
    scenario = draw_faults(seed)
    rng = random.Random(f"fleet {seed}")
    app = rng.choice(FLEETS)
    if random.Random(f"cut table {seed}").random() < TABLE_SHARE:
        app = FLEET_WITH_TABLE
    found = list(scenario.faults)
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        at_ms = rng.randrange(FIRST_FAULT_MS, LAST_FAULT_MS)
        if rng.random() < STORM_SHARE:
            at_ms = rng.choice(scenario.faults).at_ms + rng.randrange(-STORM_MS, STORM_MS)
        at_ms = min(max(at_ms, FIRST_FAULT_MS), LAST_FAULT_MS)
        text = rng.choice(("same", "same", "next"))
        found.append(Fault(at_ms, "rescale", str(rng.choice((1, *PARALLEL))), 0, text))
    found += _of_nodes(random.Random(f"nodes {seed}"), scenario)
    # On all processors: else one unit would fold what another one leaves out, and no node would.
    heavy = _heavy(random.Random(f"heavy {seed}"), scenario)
    found += [replace(one, target="processor") for one in heavy]
    clients = scenario.clients
    again = random.Random(f"fleet again {seed}")
    if again.random() < FLEETS_AGAIN:
        at_ms, for_ms = again.randrange(FIRST_FAULT_MS, LAST_FAULT_MS), again.choice((1, 150, 800))
        found.append(Fault(at_ms, "redeploy", "cluster", for_ms, "same"))
        clients = tuple("any" if mode == "bus" else mode for mode in clients)
    return replace(
        scenario,
        clients=clients,
        app=app.warm() if scenario.app.is_warm else app,
        faults=tuple(sorted([*found, *_wrong_deaths(rng, scenario)])),
        farewell=rng.choice(("", "", "undeploy", "purge")),
        parallel=rng.choice(PARALLEL),
        stall_share=scenario.stall_share * FLEET_STALLS,
    )


def _of_nodes(rng: random.Random, scenario: Scenario) -> list[Fault]:
    """Processors that are drained for a while, and processors that join."""
    processors = [node for node in scenario.nodes if node.startswith("processor")]
    found: list[Fault] = []
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        at_ms = rng.randrange(FIRST_FAULT_MS, LAST_FAULT_MS)
        found.append(Fault(at_ms, "drain", rng.choice(processors), rng.choice(DURATIONS_MS)))
    for number in range(rng.choice((0, 0, 1, 1, 2))):
        at_ms = rng.randrange(FIRST_FAULT_MS, LAST_FAULT_MS)
        found.append(Fault(at_ms, "join", f"processor-{len(processors) + number + 1}"))
    return found


def draw(seed: int) -> Scenario:
    """The scenario of a seed, with what operators and users ask for meanwhile."""
    scenario = draw_faults(seed)
    rng = random.Random(f"actions {seed}")
    actions = _actions(rng, scenario)
    actions += _wrong_deaths(random.Random(f"connections {seed}"), scenario)
    actions += _heavy(random.Random(f"heavy {seed}"), scenario)
    again = rng.choice(("", "", "", "", "redeploy", "purge"))
    clients = scenario.clients
    if again:
        at_ms = rng.randrange(FIRST_FAULT_MS, LAST_FAULT_MS)
        text = rng.choice(("same", "same", "next"))
        actions.append(Fault(at_ms, again, "cluster", rng.choice((1, 150, 800, 2_500)), text))
        # What the bus takes for an app that is not there is put aside; this is not about that.
        clients = tuple("any" if mode == "bus" else mode for mode in clients)
    farewell = rng.choice(("", "", "undeploy", "purge"))
    return replace(
        scenario,
        clients=clients,
        faults=tuple(sorted([*scenario.faults, *actions])),
        farewell=farewell,
    )


def _wrong_deaths(rng: random.Random, scenario: Scenario) -> list[Fault]:
    """Connections to the lease server that close although their process lives."""
    found: list[Fault] = []
    for _ in range(rng.choice((0, 0, 1, 2, 4))):
        at_ms = rng.randrange(FIRST_FAULT_MS, LAST_FAULT_MS)
        likely = [node for node in scenario.nodes if node.startswith("processor")]
        node = rng.choice(likely if rng.random() < 0.6 else scenario.nodes)
        found.append(Fault(at_ms, "hang_up", node, rng.choice((1, 60, 150, 800, 2_500))))
    return found


def _heavy(rng: random.Random, scenario: Scenario) -> list[Fault]:
    """Records of which workers die, on one processor or on all."""
    if rng.random() >= HEAVY_SHARE:
        return []
    found: list[Fault] = []
    for _ in range(rng.choice((1, 1, 2))):
        at_ms = rng.choice(scenario.faults).at_ms + rng.randrange(-STORM_MS, STORM_MS)
        at_ms = min(max(at_ms, FIRST_FAULT_MS), LAST_FAULT_MS)
        processors = [node for node in scenario.nodes if node.startswith("processor")]
        ahead = " ".join(map(str, rng.sample(range(6), rng.choice((1, 2, 3)))))
        found.append(Fault(at_ms, "heavy", rng.choice(("processor", *processors)), 0, ahead))
    return found


def _actions(rng: random.Random, scenario: Scenario) -> list[Fault]:
    """Drawn apart from the faults; half of them close to one of these."""
    kinds = ["restore"] * rng.choice((0, 0, 1, 1, 2))
    if scenario.app.write is not None:
        kinds += ["write"] * rng.choice((3, 6, 9))
    found: list[Fault] = []
    for kind in kinds:
        at_ms = rng.randrange(FIRST_FAULT_MS, LAST_FAULT_MS)
        if rng.random() < STORM_SHARE:
            at_ms = rng.choice(scenario.faults).at_ms + rng.randrange(-STORM_MS, STORM_MS)
        at_ms = min(max(at_ms, FIRST_FAULT_MS), LAST_FAULT_MS)
        found.append(Fault(at_ms, kind, "cluster", 0, f"{kind}-{len(found)}"))
    return found


def draw_faults(seed: int) -> Scenario:
    """The scenario of a seed, with faults, hand-overs, snapshots and deployments alone."""
    rng = random.Random(f"scenario {seed}")
    processors = rng.choice((2, 2, 3))
    counts = {
        "coordinator": rng.choice((1, 2)),
        "processor": processors,
        "receiver": 2,
        "publisher": rng.choice((1, 2)),
        "presenter": 1,
    }
    nodes = tuple(f"{s}-{i}" for s, count in counts.items() for i in range(1, count + 1))
    skewed = rng.random() < 0.4
    skews = tuple(rng.randrange(-30_000, 30_000) if skewed else 0 for _ in nodes)
    clients = tuple(rng.choice(MODES) for _ in range(rng.choice((1, 2, 2))))
    app = rng.choice(APPS)
    return Scenario(
        seed=seed,
        app=app.warm() if rng.random() < WARM_SHARE else app,
        nodes=nodes,
        replicas=rng.choice((2, processors)),
        clients=clients,
        every_ms=rng.choice((80, 150, 300)),
        skews_ms=skews,
        stall_share=rng.choice((0.0, 0.001, 0.001, 0.005)),
        faults=_faults(rng, nodes),
    )


def _faults(rng: random.Random, nodes: tuple[str, ...]) -> tuple[Fault, ...]:
    """Some at any time, some close behind another: what is half done is easily hurt."""
    found: list[Fault] = []
    for _ in range(rng.choice((2, 3, 4, 5, 6, 8, 10))):
        fault = _fault(rng, nodes)
        if found and rng.random() < STORM_SHARE:
            at_ms = rng.choice(found).at_ms + rng.randrange(STORM_MS)
            fault = replace(fault, at_ms=min(at_ms, LAST_FAULT_MS))
        found.append(fault)
    return tuple(sorted(found))


KINDS: Final = {
    "crash": 8, "pause": 8, "restart": 4, "slow": 3, "skew": 3,
    "cut": 8, "cut_to": 4, "cut_back": 4, "lossy": 4, "isolate": 4,
    "down": 6, "flush_leases": 3, "lease_clock": 3,
    "full_disk": 2, "torn_write": 3, "rotten_revision": 2, "redeliver": 2,
    "crash_all": 3, "handover": 5, "snapshot": 3, "deploy": 6,
}  # fmt: skip


def _fault(rng: random.Random, nodes: tuple[str, ...]) -> Fault:
    kind = rng.choices(list(KINDS), weights=list(KINDS.values()))[0]
    at_ms = rng.randrange(FIRST_FAULT_MS, LAST_FAULT_MS)
    for_ms = rng.choice(DURATIONS_MS)
    # Processors hold what is hard to keep right.
    likely = [node for node in nodes if node.startswith("processor")]
    node = rng.choice(likely if rng.random() < 0.6 else nodes)
    match kind:
        case "cut" | "cut_to" | "cut_back" | "lossy":
            server = rng.choice(SERVERS[:3] if node.startswith("processor") else SERVERS)
            detail = rng.choice(("0.05", "0.3")) if kind == "lossy" else ""
            return Fault(at_ms, kind, f"{node}/{server}", for_ms, detail)
        case "crash" | "pause" | "restart" | "slow" | "isolate":
            return Fault(at_ms, kind, node, for_ms)
        case "skew":
            return Fault(at_ms, kind, node, 0, str(rng.randrange(-60_000, 60_000)))
        case "down":
            return Fault(at_ms, kind, rng.choice(SERVERS), for_ms)
        case "lease_clock":
            return Fault(at_ms, kind, "leases", 0, str(rng.choice((-5_000, 900, 5_000, 60_000))))
        case "crash_all":
            return Fault(at_ms, kind, "everything", for_ms, rng.choice(("", "flush")))
        case "full_disk" | "torn_write" | "rotten_revision":
            return Fault(at_ms, kind, "store", for_ms if kind == "full_disk" else 0)
    return Fault(at_ms, kind, "cluster")
