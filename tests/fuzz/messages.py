"""What strangers publish for an app over the bus, drawn with a seed. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.fuzz.nasty import JUNK_EVENTS

GOOD_SHARE: Final = 0.2
DEEP: Final = ((b"[", b"]"), (b'{"a":', b"}"), (b'{"n": 1, "more": [', b"]}"))
DEPTHS: Final = (100, 450, 900, 984, 1_500, 50_000)
"""Around the depth that Python's own stack has."""
TIMES: Final = ("soon", "-1", "9" * 40, "²", "9223372036854775808", "1.5", " ")
PLAIN: Final = [one for one in JUNK_EVENTS if one[1].isascii() and "ndjson" not in one[1]]
"""Each of them one dead letter."""
STREAMS: Final = ("Nowhere", "Kept", "in", "*", "In.In", "ß", "x" * 200)


@dataclass(frozen=True, slots=True)
class Message:
    """`is_good`: it has to become an event; all others become dead letters."""

    stream: str
    payload: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    is_good: bool = False


def messages(stream: str, *, seed: int, count: int) -> Iterator[Message]:
    """That many, for an app whose `stream` takes a whole number `n`."""
    rng = random.Random(f"{seed}/bus")
    for number in range(count):
        good = b'{"n": %d}' % number
        if rng.random() < GOOD_SHARE:
            yield Message(stream, good, is_good=True)
            continue
        how = rng.randrange(5)
        if how == 0:
            begins, ends = rng.choice(DEEP)
            depth = rng.choice(DEPTHS)
            ended = b'{"n":' + begins * depth + b"1" + ends * depth + b"}"
            yield Message(stream, rng.choice((ended, begins * depth)))
        elif how == 1:
            yield Message(rng.choice(STREAMS), good)
        elif how == 2:
            yield Message(stream, good, {"Timestamp-Ms": rng.choice(TIMES)})
        elif how == 3:
            payload, kind = rng.choice(PLAIN)
            yield Message(stream, payload, {"Content-Type": kind} if kind else {})
        else:
            yield Message(stream, b"\xff" + rng.randbytes(rng.choice((0, 50, 300_000))))
