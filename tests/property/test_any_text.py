"""Any text, from single characters to printed trees, is an app that starts or a positioned error.

Never a crash, never over a second of work. LOCKSTEP_FUZZ_TEXTS says how many texts there are;
100000 is a good number by hand.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lockstep.siddhiql import SiddhiQLError, ast, check, print_app
from lockstep.testing import VirtualApp
from lockstep.testing.scenario import app_of
from tests.property import siddhiql_trees as trees
from tests.property.siddhiql_samples import SAMPLES
from tests.property.test_siddhiql_fuzz import LIMIT_S, TEXTS

MAX_SECONDS = 1.0
LOOKS = 3
_TOKENS = re.compile(r"\"\"\"|[A-Za-z_]\w*|\d+[LlFfDd]?|->|[=!<>]=|\S")
_LINES = [line for text in SAMPLES for line in text.split("\n") if line.strip()]
_WORDS = [token for line in _LINES for token in _TOKENS.findall(line)]
_STATEMENTS = [part for text in SAMPLES for part in re.split(r"(?<=;)\n", text) if part.strip()]
GOLDENS = [
    app_of(file.read_text())
    for file in sorted((Path(__file__).parents[1] / "golden").rglob("*.siddhi"))
]
_HEAD = "define stream S (k string, v int); define stream Trades (symbol string, price double);"


Kind = Callable[[random.Random], str]


def judged(text: str) -> bool:
    """Whether the text is an app; fails the test when it is neither that nor a positioned error."""
    error, took_s = _timed(text)
    for _ in range(LOOKS - 1):
        if took_s < MAX_SECONDS:
            break
        # Or the collector was due just then, or a neighbour had the caches: once more.
        took_s = min(took_s, _timed(text)[1])
    assert took_s < MAX_SECONDS, text
    if error is not None:
        assert 1 <= error.line <= text.count("\n") + 1, text
        assert error.column >= 1, text
        assert error.message, text
    return error is None


def _timed(text: str) -> tuple[SiddhiQLError | None, float]:
    """What the checker says, and the seconds of processor time that it took."""
    before_s = time.thread_time()
    error = _error(check, text)
    return error, time.thread_time() - before_s


def started(text: str) -> None:
    """Starts an app that the checker accepts: it runs, or it is refused as a text, too."""
    error = _error(VirtualApp, text)
    assert error is None or error.message, text


def _error(action: Callable[[str], object], text: str) -> SiddhiQLError | None:
    try:
        action(text)
    except SiddhiQLError as error:
        return error
    return None


def _characters(chance: random.Random) -> str:
    span = chance.choice((128, 0x250, 0xD800))
    return "".join(chr(chance.randrange(span)) for _ in range(chance.randrange(60)))


def _soup(chance: random.Random) -> str:
    words = [chance.choice(_WORDS) for _ in range(chance.randrange(1, 40))]
    return _HEAD * chance.randrange(2) + " ".join(words)


def _shuffled_lines(chance: random.Random) -> str:
    return "\n".join(chance.choice(_LINES) for _ in range(chance.randrange(1, 12)))


def _shuffled_statements(chance: random.Random) -> str:
    chosen = [chance.choice(_STATEMENTS) for _ in range(chance.randrange(1, 8))]
    definitions = [text for text in chosen if "define" in text]
    return "\n".join([_HEAD, *definitions, *(text for text in chosen if "define" not in text)])


def _mutated(text: str, chance: random.Random) -> str:
    """One or two words deleted, doubled, or replaced by words of the same text."""
    tokens = re.findall(r"\s+|[A-Za-z_]\w*|\d+|->|.", text, re.DOTALL)
    words = [token for token in tokens if token.strip()]
    for _ in range(chance.choice((1, 1, 2))):
        at = chance.choice([index for index, token in enumerate(tokens) if token.strip()])
        alike = [word for word in words if word.isidentifier() == tokens[at].isidentifier()]
        match chance.randrange(6):
            case 0:
                del tokens[at : at + chance.randrange(1, 9)]
            case 1:
                tokens[at:at] = tokens[at : at + chance.randrange(1, 9)]
            case 2:
                tokens.insert(at, chance.choice(words))
            case _ if tokens[at].isdigit():
                tokens[at] = str(chance.choice((0, 1, 2, 5, 1000, 2**31)))
            case _:
                tokens[at] = chance.choice(alike or words)
        tokens = tokens if any(map(str.strip, tokens)) else [";"]
    return "".join(tokens)


@pytest.mark.timeout(LIMIT_S)
@pytest.mark.parametrize("kind", [_characters, _soup, _shuffled_lines, _shuffled_statements])
def test_random_texts(kind: Kind) -> None:
    """Characters, words, lines and statements in any order."""
    chance = random.Random(kind.__name__)
    check(_HEAD + "from S select k insert into O;")
    for _ in range(TEXTS // 4):
        text = kind(chance)
        if judged(text):
            started(text)


@pytest.mark.timeout(LIMIT_S)
def test_mutated_apps() -> None:
    """Apps with words changed for others of their own: many are apps again, and start."""
    chance = random.Random("mutated")
    apps = 0
    for _ in range(TEXTS // 4):
        text = _mutated(chance.choice(GOLDENS), chance)
        if judged(text):
            started(text)
            apps += 1
    assert apps > TEXTS // 100


@pytest.mark.timeout(LIMIT_S)
@given(trees.APPS, st.randoms(use_true_random=False))
@settings(
    max_examples=max(TEXTS // 30, 100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_printed_trees(app: ast.App, chance: random.Random) -> None:
    """Texts with correct syntax and meaningless content, and the same with a part cut out."""
    text = print_app(app)
    judged(text)
    start = chance.randrange(len(text) + 1)
    judged(text[:start] + text[start + chance.randrange(12) :])
