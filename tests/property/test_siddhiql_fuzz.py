"""Whatever the text: an app, or an error with a place in it; never a crash, never over a second."""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable

import pytest

from lockstep.siddhiql import SiddhiQLError, check, check_on_demand
from tests.property.siddhiql_samples import ON_DEMAND, SAMPLES, TABLES

TEXTS = int(os.environ.get("LOCKSTEP_FUZZ_TEXTS", "6000"))
"""The budget: about half a millisecond each; 100000 is a good number by hand."""
LIMIT_S = 600 + TEXTS // 10
"""A test that goes through so many texts hangs when it takes longer, on a machine however busy."""

_MAX_CHARACTERS = 20_000
_TOKEN = re.compile(r"\s+|[A-Za-z_]\w*|\d+|\"\"\"|.", re.DOTALL)
_VOCABULARY = [token for text in SAMPLES for token in _TOKEN.findall(text)]


def _mutated(text: str, chance: random.Random) -> str:
    tokens = _TOKEN.findall(text)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        at = chance.randrange(len(tokens) + 1)
        other = _TOKEN.findall(chance.choice(SAMPLES))
        start = chance.randrange(len(other))
        span = tokens[at : at + chance.randrange(1, 30)]
        match chance.randrange(7):
            case 0:
                del tokens[at : at + 1]
            case 1:
                tokens.insert(at, chance.choice(_VOCABULARY))
            case 2:
                tokens[at : at + 1] = [chance.choice(_VOCABULARY)]
            case 3:
                tokens.insert(
                    at, chr(chance.choice((chance.randrange(128), chance.randrange(9999))))
                )
            case 4:
                tokens[at:at] = span * chance.choice((1, 2, 60))
            case 5:
                tokens[at:at] = other[start : start + chance.randrange(1, 20)]
            case _:
                del tokens[at : at + chance.randrange(1, 200)]
        tokens = tokens or [";"]
    return "".join(tokens)[:_MAX_CHARACTERS]


def _error_of(check_text: Callable[[str], object], text: str) -> SiddhiQLError | None:
    try:
        check_text(text)
    except SiddhiQLError as error:
        return error
    return None


# A quiet machine needs well under a second; a crowded one counts more for the same work. This is
# to catch work that grows with a power of the length, which takes minutes.
HANG_CPU_S = 10.0


def _judge(text: str) -> None:
    before = time.thread_time()  # what others do on the machine is not the parser's fault
    error = _error_of(check, text)
    assert time.thread_time() - before < HANG_CPU_S, text[:1000]
    if error is not None:
        assert 1 <= error.line <= text.count("\n") + 1, text[:1000]
        assert error.column >= 1, text[:1000]
        assert error.message, text[:1000]


@pytest.mark.timeout(LIMIT_S)
def test_mutated_apps_are_apps_or_positioned_errors() -> None:
    """Every error stands at a line and column of the text, and says something."""
    chance = random.Random(1)
    check(SAMPLES[0])
    for _ in range(TEXTS):
        text = _mutated(chance.choice(SAMPLES), chance)
        _judge(text)


def test_mutated_on_demand_queries() -> None:
    """On-demand queries against a checked app: the same promise."""
    chance = random.Random(2)
    app = check(TABLES)
    for query in ON_DEMAND:
        check_on_demand(query, app)
    for _ in range(TEXTS // 10):
        _error_of(
            lambda text: check_on_demand(text, app), _mutated(chance.choice(ON_DEMAND), chance)
        )


def test_hostile_texts_end_quickly() -> None:
    """Deep nesting, long chains, unclosed everything: refused or accepted within a second."""
    stream = "define stream S (a int, b bool);"
    many = 10_000
    texts = [
        f"{stream}from S[{'(' * many}b{')' * many}] insert into O;",
        f"{stream}from S[{'not ' * many}b] insert into O;",
        f"{stream}from S[b{' or b' * many}] insert into O;",
        f"{stream}from S[{'f(' * many}a{')' * many}] insert into O;",
        f"{stream}from {'every (' * many}S{')' * many} select a insert into O;",
        f"{stream}from e1=S{' -> S' * many} select e1.a insert into O;",
        f"{stream}from {'(from ' * many}S{' return)' * many} insert into O;",
        f"{stream}from S[a > {'9' * many}] insert into O;",
        f"{'@a(' * many}'x'{')' * many}{stream}",
        "define function f[python] return int " + "{" * many,
        "/*" * many,
        "'" * many,
        '"""' * many + "x",
        "`" * many,
        "(" * many,
        "\0" * many,
        "@app:playback(idle.time='" + "1 sec " * many + "', increment='1 sec')" + stream,
        stream + "".join(f"from S{i} insert into S{i + 1};" for i in range(1000)),
        "x" * 400_000,
    ]
    check(stream)
    for text in texts:
        _judge(text)
