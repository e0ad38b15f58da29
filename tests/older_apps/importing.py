"""What `lockstep import` makes of public samples of the older products, counted.

    make older-apps IMPORT='checkout-of-product-cep/modules/samples other-checkout.git'

Each folder that holds folders of definitions is a deployment of its own. A part of the input that
stands neither in an app nor in the report is unaccounted: parts are looked up here by another
reader than the import's. Nothing of the collections is kept.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lockstep.migration import Fate, Imported, SourceFile, convert
from lockstep.migration.deployment import SUFFIXES
from tests.older_apps.accounting import unaccounted
from tests.older_apps.run import git

FOLDERS = {"eventstreams", "eventreceivers", "eventpublishers", "executionplans", "carbonapps",
           "eventbuilders", "eventformatters", "cepbuckets", "capp"}  # fmt: skip


def deployments(place: Path) -> Iterator[list[Path]]:
    """The files of each deployment below a folder."""
    homes = {path.parent for path in place.rglob("*") if path.is_dir() and path.name in FOLDERS}
    inside: set[Path] = set()
    for home in sorted(homes):
        files = sorted(
            path
            for path in home.rglob("*")
            if path.is_file()
            and path.relative_to(home).parts[0] in FOLDERS
            and path.name.endswith(SUFFIXES)
        )
        inside |= set(files)
        if files:
            yield files
    for path in sorted(place.rglob("*")):
        if (
            path.is_file()
            and path.suffix in (".siddhi", ".siddhiql", ".car")
            and path not in inside
        ):
            yield [path]


def opened(place: Path, folder: Path) -> Path:
    """A checkout as it is; of a git directory the definitions of its newest commit, in `folder`."""
    if not (place / "HEAD").is_file():
        return place
    for name in git(place, "ls-tree", "-r", "-z", "--name-only", "HEAD").decode().split("\0"):
        if name.endswith(SUFFIXES):
            try:
                data = git(place, "show", f"HEAD:{name}")
            except subprocess.CalledProcessError:
                print(f"not in the snapshot: {name}", file=sys.stderr)
                continue
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
    return folder


def main(places: list[str]) -> int:
    """Prints the counts, and on stderr what is unaccounted and what is not valid."""
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for place in places:
        with tempfile.TemporaryDirectory() as folder:
            for paths in deployments(opened(Path(place), Path(folder))):
                files = [SourceFile(str(path), path.read_bytes()) for path in paths]
                done = convert(files)
                count(done, counts, reasons)
                for part in unaccounted(files, done):
                    counts["unaccounted"] += 1
                    print(f"unaccounted: {part}", file=sys.stderr)
    for why, number in reasons.most_common(40):
        print(f"{number:4d}  {why}")
    print(json.dumps({key: counts[key] for key in KEYS}))
    return 0 if counts["deployments"] and not counts["unaccounted"] else 1


KEYS = ("deployments", "artifacts", "apps", "valid", "whole", "to decide", "changed", "dropped",
        "unaccounted")  # fmt: skip


def count(done: Imported, counts: Counter[str], reasons: Counter[str]) -> None:
    """Adds a deployment."""
    counts["deployments"] += 1
    counts["artifacts"] += done.artifacts
    counts["apps"] += len(done.apps)
    counts["valid"] += sum(app.valid for app in done.apps)
    counts["whole"] += sum(app.valid and "-- to decide:" not in app.text for app in done.apps)
    for app in done.apps:
        if not app.valid:
            print(f"not valid: {app.name}", file=sys.stderr)
    for finding in done.findings:
        counts[finding.fate.value] += 1
        if finding.fate is Fate.TO_DECIDE:
            reasons[finding.why] += 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
