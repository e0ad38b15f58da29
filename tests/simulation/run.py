"""`python -m tests.simulation.run`: many seeds, or one of them told; see `make sim`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final

from tests.simulation.breaks import BREAKS, NOTHING, Break
from tests.simulation.fleet_breaks import FLEET_BREAKS
from tests.simulation.scenario import draw, draw_fleet, scenario_of
from tests.simulation.shrink import shrunk, told
from tests.simulation.simulation import Outcome, simulate

TOLD_SEEDS: Final = 3
SEEDS_A_SHARE: Final = 10
ALL_BREAKS: Final = BREAKS | FLEET_BREAKS


@dataclass(frozen=True)
class Share:
    """What came of some seeds: how many faults there were, and which seeds failed."""

    seeds: int
    faults: int
    failed: tuple[int, ...]


@dataclass(frozen=True)
class Run:
    """What is run of each seed: with what broken on purpose."""

    broken: str

    def outcome(self, seed: int) -> Outcome:
        """The seed's simulation."""
        broken = self.substitution
        if broken is NOTHING:
            return simulate(scenario_of(seed))
        return simulate((draw_fleet if broken.of_fleets else draw)(seed), broken)

    @property
    def substitution(self) -> Break:
        """What is broken on purpose."""
        return ALL_BREAKS.get(self.broken, NOTHING)


def run_share(seeds: Sequence[int], run: Run) -> Share:
    """Runs some seeds in this process."""
    outcomes = [run.outcome(seed) for seed in seeds]
    failed = tuple(one.scenario.seed for one in outcomes if one.violations)
    return Share(len(seeds), sum(one.faults for one in outcomes), failed)


def shares_of(seeds: range, run: Run, workers: int) -> Iterator[Share]:
    """All seeds, by `workers` processes."""
    parts = [seeds[i : i + SEEDS_A_SHARE] for i in range(0, len(seeds), SEEDS_A_SHARE)]
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(partial(run_share, run=run), parts)


def run_many(seeds: range, run: Run, workers: int) -> int:
    """Runs seeds, tells the first that fail; the exit code."""
    done = faults = 0
    failed: list[int] = []
    for share in shares_of(seeds, run, workers):
        done += share.seeds
        faults += share.faults
        failed += share.failed
        if share.failed:
            print(f"sim: failed: {' '.join(map(str, share.failed))}", flush=True)
        if done % 200 == 0 and done < len(seeds):
            print(f"sim: {done} seeds, {faults} faults, {len(failed)} violations", flush=True)
    for seed in failed[:TOLD_SEEDS]:
        tell(seed, run)
    word = "failed" if failed else "ok"
    print(f"sim: {word} seeds={done} faults={faults} violations={len(failed)}")
    return 1 if failed else 0


def tell(seed: int, run: Run) -> None:
    """A failing seed's story, made as short as it can be."""
    print("\n".join(told(shrunk(run.outcome(seed), run.substitution))))


def run_one(seed: int, run: Run, *, whole: bool) -> int:
    """Replays one seed and tells it; the exit code."""
    outcome = run.outcome(seed)
    if outcome.violations and not whole:
        outcome = shrunk(outcome, run.substitution)
    print("\n".join(told(outcome)))
    word = "failed" if outcome.violations else "ok"
    print(f"sim: {word} seeds=1 faults={outcome.faults} violations={bool(outcome.violations):d}")
    return 1 if outcome.violations else 0


def main() -> int:
    """As the command line says."""
    parser = argparse.ArgumentParser(prog="sim", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many seeds, from 0")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="replays one seed and tells its story")
    parser.add_argument("--whole", action="store_true", help="with all its faults")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--break", dest="broken", default="", choices=["", *ALL_BREAKS],
                        help="breaks an invariant on purpose: the seeds have to fail")  # fmt: skip
    given = parser.parse_args()
    run = Run(given.broken)
    if given.seed is not None:
        return run_one(given.seed, run, whole=given.whole)
    seeds = range(given.first, given.first + given.seeds)
    return run_many(seeds, run, given.workers)


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # Sets of names are gone through in an order that depends on it.
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        os.execve(sys.executable, [sys.executable, "-m", "tests.simulation.run", *sys.argv[1:]],
                  environment)  # fmt: skip
    sys.exit(main())
