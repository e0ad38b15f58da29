"""#markov:markovChain (extensions 24)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lockstep.events import Attribute
from lockstep.siddhiql.catalogue import Argument, Extension, Overload, Parameter, SignatureError
from lockstep.siddhiql.catalogue.signatures import (
    BOOL,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIME,
    stream_function,
)

STATES_MAX: Final = 1_000
"""Of a matrix in the text."""
TRANSITIONS_MAX: Final = 100_000
"""Pairs of states that one after another were seen, or that the matrix has."""

_MATRIX: Final = "the states, then a row for each: 'a,b; 0.1,0.9; 0.5,0.5'"


@dataclass(frozen=True, slots=True)
class Matrix:
    """How often, or how probably, each state follows each."""

    states: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]


def parse_matrix(text: str) -> Matrix:
    """A matrix as it stands in a text: lines, or parts between semicolons. SignatureError."""
    lines = [line.strip() for line in text.replace(";", "\n").splitlines() if line.strip()]
    if len(lines) < 2:
        raise SignatureError(
            f"{text!r} is no matrix: a file is not read, as replicas on two machines may have two",
            f"write the matrix itself: {_MATRIX}",
        )
    states = tuple(name.strip() for name in lines[0].split(","))
    if len(states) > STATES_MAX:
        raise SignatureError(f"a matrix of {len(states)} states", f"at most {STATES_MAX}")
    try:
        rows = tuple(tuple(float(cell) for cell in line.split(",")) for line in lines[1:])
    except ValueError as error:
        raise SignatureError(f"the matrix has what is no number: {error}", _MATRIX) from None
    if len(rows) != len(states) or any(len(row) != len(states) for row in rows):
        raise SignatureError(
            f"the matrix has {len(states)} states, but not as many rows and columns", _MATRIX
        )
    if len(set(states)) < len(states) or not all(0 <= cell < 1e100 for row in rows for cell in row):
        raise SignatureError("the matrix names a state twice, or has a negative number", _MATRIX)
    return Matrix(states, rows)


def _check(arguments: Sequence[Argument]) -> None:
    threshold, matrix = arguments[3].value, arguments[4]
    if not 0 <= threshold <= 1:
        raise SignatureError(f"alert.threshold is {threshold}", "it lies between 0 and 1")
    if matrix.type is STRING:
        parse_matrix(matrix.value)
    elif matrix.value < 0:
        raise SignatureError(f"the limit of notifications is {matrix.value}", "from 0 on")


def _added(arguments: Sequence[Argument]) -> tuple[Attribute, ...]:
    found = (("lastState", STRING), ("transitionProbability", DOUBLE), ("notify", BOOL))
    return tuple(Attribute(*each) for each in found)


_BASIC = (
    Parameter("id", (STRING,)),
    Parameter("state", (STRING,)),
    Parameter("duration.to.keep", TIME, constant=True, positive=True),
    Parameter("alert.threshold", (DOUBLE,), constant=True),
    Parameter("matrix.location.or.notifications.limit", (INT, LONG, STRING), constant=True),
)

EXTENSIONS: tuple[Extension, ...] = (
    stream_function(
        "markovChain",
        Overload(_BASIC, adds=_added, check=_check),
        Overload((*_BASIC, Parameter("train", (BOOL,))), adds=_added, check=_check),
        namespace="markov",
    ),
)
