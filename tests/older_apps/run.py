"""Which apps of the older products' public collections are valid here, counted by reason.

    make older-apps DIRS='checkout-of-a-collection other-checkout.git'

A directory is a checkout, or a git directory whose newest commit is read. Apps that occur twice
count once. Nothing of the collections is kept.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from lockstep.events import LockstepError
from lockstep.execute.reference.rehearsal import rehearse
from lockstep.mapping import check_connectors
from lockstep.plan import plan_of
from lockstep.siddhiql import check
from lockstep.siddhiql.variables import names_of, with_values

SUFFIX = ".siddhi"
VALUES: Final = {
    "INPUT_DESTINATION": "input",
    "DATABASE_URL": "jdbc:mysql://127.0.0.1:3306/apps",
    "NATS_URL": "nats://127.0.0.1:4222",
}
"""Of names that must have a certain form, or another value than the others."""


def texts(place: Path) -> Iterator[tuple[str, bytes]]:
    """Every app of a collection, with its path."""
    if not (place / "HEAD").is_file():
        for path in sorted(place.rglob(f"*{SUFFIX}")):
            yield str(path), path.read_bytes()
        return

    for name in git(place, "ls-tree", "-r", "-z", "--name-only", "HEAD").decode().split("\0"):
        if name.endswith(SUFFIX):
            yield f"{place}:{name}", git(place, "show", f"HEAD:{name}")


def git(place: Path, *arguments: str) -> bytes:
    """What git says of a git directory."""
    command = ["git", f"--git-dir={place}", *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout


def filled(text: str) -> str:
    """With values for its names in `${…}`, as whoever deploys an app gives them."""
    return with_values(text, {name: VALUES.get(name, "value") for name in names_of(text)})


def trouble(text: str) -> str | None:
    """Why an app is refused, with the hint; None when it is valid. Names in `${…}` have a value."""
    text = filled(text)
    try:
        check_connectors(check(text))
        rehearse(plan_of(text))
    except LockstepError as error:
        return f"{error.message} ({error.hint})" if error.hint else error.message
    return None


def main(places: list[str]) -> int:
    """Prints how many are valid, and the reasons of the others, the commonest first."""
    seen: set[str] = set()
    reasons: Counter[str] = Counter()
    for place in places:
        for path, data in texts(Path(place)):
            mark = hashlib.sha256(data).hexdigest()
            if mark in seen:
                continue
            seen.add(mark)
            why = trouble(data.decode("utf-8-sig", "replace"))
            if why is not None:
                reasons[why] += 1
                print(f"{path}: {why}", file=sys.stderr)
    for why, count in reasons.most_common():
        print(f"{count:4d}  {why}")
    print(f"older-apps: {len(seen) - reasons.total()} of {len(seen)} valid")
    return 0 if seen else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
