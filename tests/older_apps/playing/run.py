"""Plays the older products' public sample apps: events in by their sources, rows out at their
sinks.

    make older-apps-played DIRS='checkout-of-a-collection other-checkout.git'

Each valid app is deployed on a suite in this process, beside a real server of each kind. Of its
text only addresses, credentials and paths are changed (`--show` says which). Events are drawn from
its definitions and constants. It counts as played when rows stand at its own sinks (or at the
presenter, where it has none) and are what the reference engine gives for the same input log.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lockstep.mapping import annotated
from lockstep.siddhiql import ast, check
from lockstep.siddhiql.trees import below
from lockstep.telemetry import configure_logging
from lockstep.tls import TlsFiles
from tests.older_apps.playing.choosing import choose
from tests.older_apps.playing.playing_one import Candidate, Fate, Outcome, Player
from tests.older_apps.playing.stage import Stage, open_stage
from tests.older_apps.playing.statements import asking
from tests.older_apps.run import filled, texts, trouble
from tests.tls.certificates import Authority

FOLDER: Final = "OLDER_APPS_FOLDER"
CERTIFICATE: Final = "OLDER_APPS_CERTIFICATE"
KEY: Final = "OLDER_APPS_KEY"
AT_ONCE: Final = 12
"""Apps that are on the suite together."""


def candidates(places: Sequence[str], only: Sequence[str]) -> list[Candidate]:
    """The valid apps of the collections, each text once."""
    seen: set[str] = set()
    found: list[Candidate] = []
    number = -1
    for place in places:
        for path, data in texts(Path(place)):
            mark = hashlib.sha256(data).hexdigest()
            text = filled(data.decode("utf-8-sig", "replace"))
            if mark in seen or trouble(text) is not None:
                continue
            seen.add(mark)
            number += 1
            checked = check(text)
            if not only or {checked.name, str(number)} & set(only):
                found.append(Candidate(number, path, checked, choose(text, checked)))
    return found


def alone(one: Candidate) -> set[str]:
    """What no other app on the suite may have at the same time: its name, and what it hears or
    says under a name that all apps share."""
    shared = {
        f"topic {annotation.get('topic')}"
        for side in ("source", "sink")
        for _, _, annotation in annotated(one.checked, side)
        if (annotation.get("type") or "").lower() == "inmemory"
    }
    kinds = {
        (annotation.get("type") or "").lower()
        for side in ("source", "sink")
        for _, _, annotation in annotated(one.checked, side)
    }
    return shared | (kinds & {"hl7", "email"}) | {f"app {one.checked.name}"}


async def play_all(stage: Stage, cast: Sequence[Candidate], at_once: int) -> list[Outcome]:
    """Up to so many at once; the next one is whoever disturbs none of those that play."""
    found: list[Outcome] = []
    left, taken = list(cast), set[str]()
    changed = asyncio.Condition()

    async def work() -> None:
        while True:
            async with changed:
                while left and all(alone(one) & taken for one in left):
                    await changed.wait()
                if not left:
                    return
                one = next(each for each in left if not alone(each) & taken)
                left.remove(one)
                taken.update(alone(one))
            outcome = await Player(stage, one).play()
            print(line_of(outcome), flush=True)
            found.append(outcome)
            async with changed:
                taken.difference_update(alone(one))
                changed.notify_all()

    await asyncio.gather(*(work() for _ in range(at_once)))
    return sorted(found, key=lambda each: each.candidate.number)


def line_of(outcome: Outcome) -> str:
    """A row of the table."""
    one = outcome.candidate
    rows = " ".join(f"{kind}={count}" for kind, count in sorted(outcome.rows.items()))
    doors = ",".join(outcome.doors)
    head = f"{outcome.fate.value:10} {one.number:4d} {one.checked.name:40.40}"
    return (
        f"{head} {outcome.seconds:5.1f} s  in {doors}={outcome.events}  out {rows}  {outcome.why}"
    )


def datasources(cast: Sequence[Candidate]) -> dict[str, str]:
    """The databases that apps call by a name: all of them one; and one for each app that sends
    statements, under its mark."""
    names = {
        value
        for one in cast
        for node in below(one.checked.app.definitions)
        if isinstance(node, ast.Annotation)
        for key in ("datasource", "datasource.name")
        if (value := node.get(key)) is not None
    }
    marks = {one.mark: one.mark for one in cast if asking(one.checked)}
    return {**dict.fromkeys(sorted(names), "test"), **marks}


async def main(options: argparse.Namespace) -> int:
    """Prints the table, and how many of each fate."""
    with open(os.devnull, "w") as nowhere:  # what apps log while events are chosen
        configure_logging(service="choosing", stream=nowhere)
        cast = candidates(options.places, options.only)
    folder = Path(os.environ[FOLDER])
    began = time.monotonic()
    log = Path(options.log) if options.log else folder / "suite.log"
    try:
        names = datasources(cast)
        files = TlsFiles(certificate=os.environ[CERTIFICATE], key=os.environ[KEY])
        async with open_stage(folder, files, options.executor, names, log) as it:
            outcomes = await play_all(it, cast, options.at_once)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.show:
        for outcome in outcomes:
            for change in outcome.changes:
                name = outcome.candidate.checked.name
                print(f"changed: {name}: {change.key}: {change.before!r} -> {change.after!r}")
    fates = Counter(each.fate for each in outcomes)
    changed = sum(len(each.changes) for each in outcomes)
    events = sum(each.events for each in outcomes)
    print(
        f"older-apps: {changed} addresses, credentials and paths changed, {events} events, "
        f"{time.monotonic() - began:.0f} s"
    )
    print(
        f"older-apps: played={fates[Fate.PLAYED]} silent={fates[Fate.SILENT]} "
        f"differs={fates[Fate.DIFFERS]} not_played={fates[Fate.NOT_PLAYED]} of {len(cast)}"
    )
    return 0 if cast and not fates[Fate.DIFFERS] else 1


def asked() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("places", nargs="+")
    parser.add_argument("--executor", default="spark", choices=("spark", "reference"))
    parser.add_argument("--only", action="append", default=[], help="a name or a number")
    parser.add_argument("--show", action="store_true", help="every value that was changed")
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    parser.add_argument("--log", help="keep the suite's log here")
    return parser.parse_args()


def again_with_authority() -> None:
    """Begins anew in a process that trusts the authority of the servers here: what a machine trusts
    is read once, when it starts."""
    folder = Path(tempfile.mkdtemp(prefix="older-apps-"))
    authority = Authority(folder / "certificates")
    pair = authority.give("outside")
    environment = {
        **os.environ, FOLDER: str(folder), "SSL_CERT_FILE": str(authority.file),
        CERTIFICATE: str(pair.certificate), KEY: str(pair.key),
    }  # fmt: skip
    command = [sys.executable, "-m", "tests.older_apps.playing.run", *sys.argv[1:]]
    os.execve(sys.executable, command, environment)


if __name__ == "__main__":
    arguments = asked()
    if FOLDER not in os.environ:
        again_with_authority()
    sys.exit(asyncio.run(main(arguments)))
