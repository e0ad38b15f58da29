"""Which queries of many apps run in columns, by what they use, and why the others do not.

    make columns FILES='cases.jsonl directory-of-apps other.siddhi'

A file of JSON lines has `app` or `apps` in each line; a directory is searched for `*.siddhi`. Apps
that occur twice count once, and apps that are refused do not count. Nothing of them is kept.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from lockstep.events import AttributeType, LockstepError
from lockstep.execute.columnar import lowering_of
from lockstep.execute.columnar.hosted.window_rule import HOSTED_WINDOWS
from lockstep.execute.columnar.sharing import components
from lockstep.plan import AppPlan, PartitionNode, QueryNode, plan_of
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedJoin, CheckedPattern, CheckedStream, SourceKind
from lockstep.siddhiql.trees import below

COLUMNS, WINDOW, REFERENCE = "in columns", "window on the reference", "on the reference"


def texts(place: Path) -> Iterator[str]:
    """The apps of a file or directory."""
    if place.is_dir():
        for path in sorted(place.rglob("*.siddhi")):
            yield path.read_text(encoding="utf-8-sig", errors="replace")
    elif place.suffix == ".jsonl":
        for line in place.read_text().splitlines():
            case = json.loads(line)
            found = case.get("apps") or [case.get("app")]
            yield from (text for text in found if isinstance(text, str))
    else:
        yield place.read_text(encoding="utf-8-sig", errors="replace")


def features(node: QueryNode, plan: AppPlan, partition: PartitionNode | None) -> set[str]:
    """What a query uses that is more than a stream with filters and a window."""
    query, found = node.query, set[str]()
    if partition is not None:
        ranges = any(isinstance(k, ast.RangeKey) for k in partition.partition.partition.keys)
        found.add("range partition" if ranges else "partition")
    if query.target_kind is SourceKind.TABLE:
        found.add("writing tables")
    if query.target_kind is SourceKind.WINDOW:
        found.add("named windows, writing")
    if any(isinstance(each, ast.InTable) for each in below(query.query)):
        found.add("in a table")
    rate = query.query.rate
    if rate is not None:
        by = "time" if rate.every_ms is not None else "number"
        snapshot = rate.kind is ast.RateKind.SNAPSHOT
        found.add("rate: snapshot" if snapshot else f"rate: by {by}")
    if any(AttributeType.OBJECT in plan.schemas[n].types for n in node.reads if n in plan.schemas):
        found.add("objects")
    match query.input:
        case CheckedStream(kind=kind):
            found |= _source(kind)
        case CheckedJoin() as join:
            found |= _join(join, aggregates=query.uses_aggregators)
        case CheckedPattern() as pattern:
            found |= _pattern(pattern)
    return found or {"streams, filters, windows"}


def _source(kind: SourceKind) -> set[str]:
    if kind is SourceKind.WINDOW:
        return {"named windows, reading"}
    return {"triggers"} if kind is SourceKind.TRIGGER else set()


def _join(join: CheckedJoin, *, aggregates: bool) -> set[str]:
    kinds = {join.left.kind, join.right.kind}
    found = {"triggers"} if SourceKind.TRIGGER in kinds else set()
    if aggregates:
        found.add("joins with aggregations")
    if SourceKind.TABLE in kinds:
        return found | {"joining tables"}
    if SourceKind.AGGREGATION in kinds:
        return found | {"joining aggregations"}
    if SourceKind.WINDOW in kinds:
        return found | {"named windows, joining"}
    return found | {"joins of windows"}


def _pattern(pattern: CheckedPattern) -> set[str]:
    kind = "sequences" if pattern.input.is_sequence else "patterns"
    found = set()
    for each in below(pattern.input):
        if isinstance(each, ast.AbsentState):
            found.add(f"absent {kind}")
        elif isinstance(each, ast.CountState):
            found.add(f"counted {kind}")
        elif isinstance(each, ast.LogicalState):
            found.add(f"logical {kind}")
    return found or {kind}


def looping(plan: AppPlan) -> set[str]:
    """The paths of the queries in circles of streams that feed each other, or that read one from
    outside: however they run."""
    nodes = {
        query.path if top is query else f"{top.path}/{query.path}": query
        for top in plan.nodes
        for query in (top.queries if isinstance(top, PartitionNode) else (top,))
    }
    followers = {
        path: [other for other, reader in nodes.items() if node.writes in reader.reads]
        for path, node in nodes.items()
    }
    fed = set[str]()
    for circle in components(followers):
        read = {name for path in circle for name in nodes[path].reads}
        fed |= {nodes[path].writes for path in circle} & read
    return {path for path, node in nodes.items() if node.writes in fed or fed & set(node.reads)}


class Counts:
    """What was counted so far."""

    def __init__(self) -> None:
        self.total: Counter[str] = Counter()
        self.by_feature: dict[str, Counter[str]] = {}
        self.reasons: dict[str, Counter[str]] = {}

    def add(self, plan: AppPlan) -> None:
        """Counts the queries of an app."""
        lowering, loops = lowering_of(plan), looping(plan)
        choices = iter(lowering.choices)
        for top in plan.nodes:
            partition = top if isinstance(top, PartitionNode) else None
            for node in partition.queries if partition is not None else (top,):
                choice = next(choices)
                assert isinstance(node, QueryNode)
                engine, reason = REFERENCE, None
                if lowering.is_columnar and choice.rule is not None:
                    engine = WINDOW if choice.rule == HOSTED_WINDOWS.name else COLUMNS
                else:
                    reason = choice.reason or "; ".join(lowering.app_reasons) or "so is the rest"
                found = features(node, plan, partition)
                path = node.path if partition is None else f"{partition.path}/{node.path}"
                self._count(found | ({"loops"} if path in loops else set()), engine, reason)

    def _count(self, found: set[str], engine: str, reason: str | None) -> None:
        self.total[engine] += 1
        for feature in found:
            self.by_feature.setdefault(feature, Counter())[engine] += 1
            if reason is not None:
                self.reasons.setdefault(feature, Counter())[reason] += 1
        if reason is not None:
            self.reasons.setdefault("all", Counter())[reason] += 1

    def table(self, reasons: int) -> str:
        """For people; `reasons`: how many of each feature are shown."""
        rows = [("all", self.total), *sorted(self.by_feature.items())]
        lines = [f"{'':28}{'queries':>8}{'columns':>9}{'window':>8}{'reference':>11}"]
        for name, counts in rows:
            number = counts.total()
            shares = [counts[each] / number for each in (COLUMNS, WINDOW, REFERENCE)]
            lines.append("{:28}{:8d}{:9.1%}{:8.1%}{:11.1%}".format(name, number, *shares))
            most = self.reasons.get(name, Counter()).most_common(reasons)
            lines += [f"{count:40d}  {why}" for why, count in most]
        return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Prints the shares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("places", nargs="+", type=Path)
    parser.add_argument("--reasons", type=int, default=0, help="shown of each feature")
    parser.add_argument("--feature", help="show all reasons of one feature, or of 'all'")
    chosen = parser.parse_args(arguments)
    counts, seen, refused = Counts(), set[str](), 0
    for place in chosen.places:
        for text in texts(place):
            if text in seen:
                continue
            seen.add(text)
            try:
                counts.add(plan_of(text))
            except LockstepError:
                refused += 1
    if not counts.total:
        print("no query found", file=sys.stderr)
        return 1
    print(counts.table(chosen.reasons))
    for why, count in counts.reasons.get(chosen.feature or "", Counter()).most_common():
        print(f"{count:5d}  {why}")
    print(f"{len(seen) - refused} apps, {refused} refused")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
