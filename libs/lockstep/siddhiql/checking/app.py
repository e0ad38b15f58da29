"""A whole app: annotations, definitions, then queries in the order in which inputs get known."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from lockstep.events import StreamSchema
from lockstep.secrets.references import BEGINNING
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import (
    UTC,
    CheckedApp,
    CheckedPartition,
    CheckedQuery,
)
from lockstep.siddhiql.checking.annotation_names import check_annotation_names
from lockstep.siddhiql.checking.annotations import info_name
from lockstep.siddhiql.checking.app_annotations import check_app_annotations, value_of
from lockstep.siddhiql.checking.called import with_calls
from lockstep.siddhiql.checking.compatibility import as_siddhi_5_1
from lockstep.siddhiql.checking.definitions import check_definitions
from lockstep.siddhiql.checking.external import Expanded, with_external
from lockstep.siddhiql.checking.models import check_models
from lockstep.siddhiql.checking.partitions import OpenPartition
from lockstep.siddhiql.checking.queries import check_query, sources_of
from lockstep.siddhiql.checking.symbols import Symbols, schema_of
from lockstep.siddhiql.errors import SiddhiQLError
from lockstep.siddhiql.secrets import check_secrets
from lockstep.siddhiql.syntax.parser import parse_app
from lockstep.siddhiql.typing import positioned
from lockstep.siddhiql.variables import check_values, names_of


@dataclass(frozen=True)
class _Job:
    """A query that waits for its inputs; `index` is its place in its partition (owner) or app."""

    query: ast.Query
    name: str
    index: int
    owner: OpenPartition | None


def check(text: str) -> CheckedApp:
    """The app with every name resolved and every type known, or a positioned SiddhiQLError."""
    checked = check_deployed(text)
    if checked.objection is not None:
        raise checked.objection
    return checked


def check_deployed(text: str) -> CheckedApp:
    """The same for a text that an earlier release took. What is refused only since then, though the
    app has a meaning, stands in `objection`: an update does not stop an app that runs."""
    written = parse_app(text)
    checked = _meaning(text, written)
    try:
        check_annotation_names(written)
    except SiddhiQLError as error:
        return replace(checked, objection=error)
    return checked


def _meaning(text: str, written: ast.App) -> CheckedApp:
    external = with_external(with_calls(written, partial(_schema_of, text)))
    tree = external.tree
    if BEGINNING in text:
        check_secrets(tree)
    if names_of(text):
        check_values(tree)
    annotations = check_app_annotations(tree.annotations)
    checked = _checked(text, tree, annotations, external)
    # Checked as it is written first: what is wrong in it is wrong in either meaning.
    if "compat" in annotations:
        return _checked(text, as_siddhi_5_1(tree), annotations, external)
    return checked


def _schema_of(text: str, tree: ast.App, stream: str) -> StreamSchema:
    """Of a stream of a part of the app."""
    external = with_external(tree)
    annotations = check_app_annotations(external.tree.annotations)
    return _checked(text, external.tree, annotations, external).schemas[stream]


def _checked(
    text: str,
    tree: ast.App,
    annotations: dict[str, ast.Annotation],
    external: Expanded,
) -> CheckedApp:
    zone, shard = annotations.get("aggtimezone"), annotations.get("shardid")
    symbols = Symbols(
        time_zone=UTC if zone is None else value_of(zone),
        shard=None if shard is None else value_of(shard),
    )
    check_definitions(tree.definitions, symbols)
    done: dict[int, CheckedQuery | CheckedPartition] = {}
    partitions: dict[int, OpenPartition] = {}
    _work(list(_jobs(tree.execution, partitions)), symbols, done)
    for position, partition in partitions.items():
        done[position] = partition.close(symbols)
    check_models(done[position] for position in sorted(done))
    return CheckedApp(
        text,
        tree,
        _name(tree, annotations),
        annotations,
        symbols.streams,
        frozenset(symbols.inferred),
        symbols.tables,
        symbols.windows,
        symbols.triggers,
        symbols.functions,
        symbols.aggregations,
        symbols.schemas | _bucket_schemas(symbols),
        tuple(done[position] for position in sorted(done)),
        external.copied,
        external.asked,
        external.answers,
    )


def _bucket_schemas(symbols: Symbols) -> dict[str, StreamSchema]:
    """What the outputs know of the aggregations' stored buckets."""
    return {
        table.name: schema_of(table.name, table.attributes)
        for aggregation in symbols.aggregations.values()
        for table in aggregation.tables.values()
    }


def _name(tree: ast.App, annotations: dict[str, ast.Annotation]) -> str:
    """@app:name, or a name that equal texts share."""
    given = annotations.get("name")
    if given is not None:
        text = next((e.value for e in given.elements), "").strip()
        if not text:
            raise positioned(given.at, "@app:name is empty", "@app:name('MyApp')")
        if text in (".", ".."):
            what = f"@app:name cannot be {text!r}: an address cannot have that name in it"
            raise positioned(given.at, what, "@app:name('MyApp')")
        return text
    return f"app_{hashlib.sha256(repr(tree).encode()).hexdigest()[:12]}"


class _Names:
    """Names of queries: given ones once each, the others by position."""

    def __init__(self, execution: tuple[ast.Query | ast.Partition, ...]) -> None:
        self._given: set[str] = set()
        self._position = 0
        for item in execution:
            for query in item.queries if isinstance(item, ast.Partition) else (item,):
                self._claim(query)

    def _claim(self, query: ast.Query) -> None:
        name = info_name(query.annotations)
        if name is None:
            return
        if name in self._given:
            raise positioned(query.at, f"two queries are called {name!r}", "rename one of them")
        self._given.add(name)

    def of(self, query: ast.Query) -> str:
        """The query's name; asked once per query, in order of writing."""
        self._position += 1
        given = info_name(query.annotations)
        if given is not None:
            return given
        name = f"query_{self._position}"
        while name in self._given:
            name += "_"
        return name


def _jobs(
    execution: tuple[ast.Query | ast.Partition, ...], partitions: dict[int, OpenPartition]
) -> Iterator[_Job]:
    names = _Names(execution)
    for position, item in enumerate(execution):
        if isinstance(item, ast.Query):
            yield _Job(item, names.of(item), position, None)
            continue
        name = info_name(item.annotations) or f"partition_{len(partitions) + 1}"
        if any(partition.name == name for partition in partitions.values()):
            raise positioned(item.at, f"two partitions are called {name!r}", "rename one of them")
        owner = partitions[position] = OpenPartition(name, item)
        for index, query in enumerate(item.queries):
            yield _Job(query, names.of(query), index, owner)


def _work(
    jobs: list[_Job], symbols: Symbols, done: dict[int, CheckedQuery | CheckedPartition]
) -> None:
    """Checks each query once its inputs are known: a later query may feed an earlier one."""
    ready = list(range(len(jobs)))
    waiting: dict[str, list[int]] = {}
    while ready:
        position = heapq.heappop(ready)
        job = jobs[position]
        missing = _missing(job, symbols)
        if missing is not None:
            waiting.setdefault(_key(missing, job), []).append(position)
            continue
        _check(job, symbols, done)
        written = _key(getattr(job.query.action, "target", ""), job)
        for waiter in waiting.pop(written, ()):
            heapq.heappush(ready, waiter)
    if waiting:
        # Nobody writes what the first of them reads: checking it says so.
        _check(jobs[min(min(positions) for positions in waiting.values())], symbols, done)


def _key(name: str, job: _Job) -> str:
    """A stream's name; inner streams are told apart by their partition."""
    if name.startswith("#") and job.owner is not None:
        return f"{job.owner.name}{name}"
    return name


def _missing(job: _Job, symbols: Symbols) -> str | None:
    """The first input that is not known yet."""
    inner = job.owner.inner if job.owner is not None else {}
    for name, _ in sources_of(job.query.input):
        if name not in inner and symbols.kind_of(name) is None:
            return name
    return None


def _check(job: _Job, symbols: Symbols, done: dict[int, CheckedQuery | CheckedPartition]) -> None:
    if job.owner is None:
        done[job.index] = check_query(job.query, job.name, symbols)
    else:
        checked = check_query(job.query, job.name, symbols, job.owner.inner)
        job.owner.queries[job.index] = checked
