"""What an aggregator's folder declares: all that is asked about one without running it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from lockstep.siddhiql.catalogue.contract import Argument, Extension


class Kept(Enum):
    """What a bucket of an incremental aggregation keeps of an argument; the values begin the names
    of stored columns."""

    SUM = "AGG_SUM"
    COUNT = "AGG_COUNT"
    LEAST = "AGG_MIN"
    GREATEST = "AGG_MAX"
    DISTINCT = "AGG_DISTINCTCOUNT"


Make = Callable[[Sequence[Argument]], Any]
"""Builds an aggregator (aggregators.contract) for the arguments of a call."""


@dataclass(frozen=True)
class AggregatorExtension(Extension):
    """An aggregator: what it takes, what it means, and what the rest of the house may do with it.

    `make_of_5_1`: its meaning under @app:compat('siddhi-5.1'). `columns` is the module that runs it
    in columns (aggregators.accumulators); without one its meaning runs there, event by event.
    `keeps`: what an incremental aggregation keeps for it, which is its value or, of two, their
    quotient; nothing where it cannot stand there. `examples`: calls that touch its kernels, on the
    attributes of `execute.columnar.precompile`.
    """

    make: Make | None = None
    make_of_5_1: Make | None = None
    columns: str = ""
    keeps: tuple[Kept, ...] = ()
    examples: tuple[str, ...] = ()
