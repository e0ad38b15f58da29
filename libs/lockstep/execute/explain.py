"""How an app is executed on Spark, query by query: in columns and by which rule, or on the
reference's operators and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from lockstep.execute.columnar import lowering_of
from lockstep.execute.columnar.lowering import Choice
from lockstep.execute.columnar.sharing import definitions_of, touched
from lockstep.plan import AppPlan, PartitionNode, QueryNode, explain_plan, steps_of
from lockstep.siddhiql.checking.app_annotations import tasks_of


class Engine(StrEnum):
    """What runs a query, in Spark's Python workers."""

    COLUMNS = "columns"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class Cost:
    """How many times the time in columns the reference takes, from `low` to `high`: measured, for
    queries of that kind (language page, section 10)."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low} to {self.high} times the time in columns"


WINDOWS_COST: Final = Cost(20, 30)
TABLES_COST: Final = Cost(10, 20)
OTHER_COST: Final = Cost(5, 30)


@dataclass(frozen=True, slots=True)
class ExplainedQuery:
    """A query: what it does, and what runs it.

    `rule` is the columnar rule that lowered it; else `reason` tells why none did, `alone` which
    rule would have, were it not for the rest of the app, and `cost` what that takes.
    """

    name: str
    partition: str | None
    reads: tuple[str, ...]
    steps: tuple[str, ...]
    writes: str
    engine: Engine
    rule: str | None = None
    reason: str | None = None
    alone: str | None = None
    cost: Cost | None = None

    def note(self) -> str:
        """The engine in a line."""
        if self.engine is Engine.COLUMNS:
            return f"in columns: {self.rule}"
        alone = "" if self.alone is None else f" (alone it would run in columns: {self.alone})"
        cost = "" if self.cost is None else f"; {self.cost}"
        return f"on the reference: {self.reason}{alone}{cost}"


@dataclass(frozen=True, slots=True)
class ExplainedAggregation:
    """An aggregation: what it reads and keeps, and what runs it; `rule` and `reason` as for
    queries."""

    name: str
    reads: str
    granularities: tuple[str, ...]
    engine: Engine
    rule: str | None = None
    reason: str | None = None

    def line(self) -> str:
        """For people."""
        where = f"in columns: {self.rule}" if self.rule else f"on the reference: {self.reason}"
        kept = ", ".join(self.granularities)
        return f"  aggregation {self.name}: {self.reads} -> {kept}; {where}"


@dataclass(frozen=True, slots=True)
class Explained:
    """An app. `whole_app_reasons`: why no part of it can run in columns, if that is so."""

    plan: AppPlan
    queries: tuple[ExplainedQuery, ...]
    whole_app_reasons: tuple[str, ...]
    aggregations: tuple[ExplainedAggregation, ...] = ()

    def text(self) -> str:
        """For people: the plan with a note below each query, and the whole in a line."""
        notes = {query.name: query.note() for query in self.queries}
        kept = [each.line() for each in self.aggregations]
        return "\n".join([explain_plan(self.plan, notes), *kept, f"  {self._summary()}"])

    def _summary(self) -> str:
        engines = [query.engine for query in self.queries]
        engines += [aggregation.engine for aggregation in self.aggregations]
        count, number = engines.count(Engine.COLUMNS), len(engines)
        what = "queries and aggregations" if self.aggregations else "queries"
        if self.whole_app_reasons:
            how = f"all on the reference: {'; '.join(self.whole_app_reasons)}"
        elif count == number:
            how = "all in columns"
        else:
            how = f"{count} of {number} {what} in columns, the others on the reference"
        asked = tasks_of(self.plan.checked.annotations)
        tasks = "" if asked is None else f"; on each processor in at most {asked} tasks at a time"
        return f"on Spark: one job per slice, {how}{tasks}"

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        plan = self.plan
        return {
            "app": plan.name,
            "tasks_max": tasks_of(plan.checked.annotations),
            "groups": [
                {"name": group.name, "nodes": list(group.nodes), "parallel": group.parallel}
                for group in plan.groups
            ],
            "queries": [
                {
                    "query": query.name,
                    "partition": query.partition,
                    "reads": list(query.reads),
                    "steps": list(query.steps),
                    "writes": query.writes,
                    "engine": query.engine.value,
                    "rule": query.rule,
                    "reason": query.reason,
                    "alone": query.alone,
                    "cost_times": None if query.cost is None else asdict(query.cost),
                }
                for query in self.queries
            ],
            "aggregations": [
                {
                    "aggregation": each.name,
                    "reads": [each.reads],
                    "granularities": list(each.granularities),
                    "engine": each.engine.value,
                    "rule": each.rule,
                    "reason": each.reason,
                }
                for each in self.aggregations
            ],
            "exports": list(plan.exported),
            "stored_tables": list(plan.stored),
            "rewritten_by": list(plan.applied),
            "whole_app_reasons": list(self.whole_app_reasons),
        }


def explain_execution(plan: AppPlan) -> Explained:
    """What the Spark executor makes of a plan; SiddhiQLError for constants that no operator
    takes."""
    lowering = lowering_of(plan)
    definitions = definitions_of(plan)
    queries = tuple(
        _explained(
            query,
            partition,
            choice,
            _cost(touched(query, definitions)),
            is_columnar=lowering.is_columnar,
        )
        for (query, partition), choice in zip(_queries(plan), lowering.choices, strict=True)
    )
    aggregations = tuple(
        _explained_aggregation(plan, choice, is_columnar=lowering.is_columnar)
        for choice in lowering.aggregations
    )
    return Explained(plan, queries, lowering.app_reasons, aggregations)


def _explained_aggregation(
    plan: AppPlan, choice: Choice, *, is_columnar: bool
) -> ExplainedAggregation:
    checked = plan.checked.aggregations[choice.query]
    kept = tuple(granularity.value for granularity in checked.granularities)
    shown = (choice.query, checked.definition.input.source, kept)
    if is_columnar and choice.rule is not None:
        return ExplainedAggregation(*shown, Engine.COLUMNS, choice.rule)
    return ExplainedAggregation(
        *shown, Engine.REFERENCE, None, choice.reason or "so is the whole app"
    )


def _queries(plan: AppPlan) -> Iterator[tuple[QueryNode, str | None]]:
    for node in plan.nodes:
        if isinstance(node, PartitionNode):
            yield from ((query, node.name) for query in node.queries)
        else:
            yield node, None


def _cost(shared: Sequence[str]) -> Cost:
    kinds = {item.partition("/")[0] for item in shared}
    if "window" in kinds:
        return WINDOWS_COST
    return TABLES_COST if "table" in kinds else OTHER_COST


def _explained(
    node: QueryNode, partition: str | None, choice: Choice, cost: Cost, *, is_columnar: bool
) -> ExplainedQuery:
    shown = (node.name, partition, node.reads, tuple(steps_of(node.query)), node.writes)
    if is_columnar and choice.rule is not None:
        return ExplainedQuery(*shown, Engine.COLUMNS, choice.rule)
    reason = choice.reason or "so is the whole app"
    return ExplainedQuery(*shown, Engine.REFERENCE, None, reason, choice.alone or choice.rule, cost)
