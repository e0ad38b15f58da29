"""Values that programs stumble over: texts, numbers, paths, bodies of events."""

from __future__ import annotations

import random
from typing import Any, Final

TEXTS: Final = (
    "\0", "a\0b", "", " ", "\n", "x" * 5_000, "ß" * 300, "\u202e", "\ud800", "𝕏" * 50, "';--",
    "' OR '1'='1", "{{7*7}}", "${jndi:ldap://x}", "<script>alert(1)</script>", "%s%n", "*", ">",
    "a.b.>", "..", ".", "/", "\\", "a b", "null", "true", "-", "__proto__", "١٢", "²", "%00",
    "from T select *", "@app:name('Victim') define", "from In select", "9" * 5_000, "\u0085",
)  # fmt: skip
NUMBERS: Final[tuple[Any, ...]] = (
    -1, 0, 2**31, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30, 1e308, -0.0, 1e-320, 0.1,
)  # fmt: skip
CONTROL: Final = ("%00", "%0a", "%0D%0aX-Evil:%201", "%1b[2J", "%7f", "%C2%80", "%09", "%08")
TRAVERSALS: Final = (
    "..%2f..%2f..%2f..%2fetc%2fpasswd", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "..%5c..%5cwindows",
    "%2fetc%2fpasswd", "....%2f%2f....%2f%2fetc%2fpasswd", "..%252f..%252fetc%252fpasswd",
    "%c0%ae%c0%ae%2fetc%2fpasswd", "file:%2f%2f%2fetc%2fpasswd", "%ff%fe", "~root", "..;",
)  # fmt: skip
_NDJSON: Final = "application/x-ndjson"
_ARROW: Final = "application/vnd.apache.arrow.stream"
JUNK_EVENTS: Final[tuple[tuple[bytes, str], ...]] = (
    (b'{"n": "x"}', ""), (b'{"m": 1}', ""), (b"5", ""), (b"[[1, 2]]", ""), (b"[]", ""),
    (b'{"n": 1e999}', ""), (b'{"n": 9223372036854775808}', ""), (b'{"n": 1.5}', ""),
    (b'{"n": ', ""), (b"\x00\x01", ""), (b"\xff", ""), (b'{"n": {"n": 1}}', ""), (b"null", ""),
    (b'{"n": true}', ""), (b'{"n": "1"}', ""), (b'[{"n": 1}, {"n": "x"}]', ""),
    (b'{"n": 1, "_timestamp": "soon"}', ""), (b'{"n": 1, "_timestamp": -1}', ""),
    (b'{"n": 1, "_timestamp": 1e40}', ""), (b'{"n": 1, "_id": 5}', ""), (b" ", ""),
    (b'{"n": "x"}\n{"n": []}\n', _NDJSON), (b"\n\n", _NDJSON), (b"{}\n{}\n[]", _NDJSON),
    (b'{"stream": "In"}', _NDJSON), (b'{"stream": "Nowhere", "event": {"m": 1}}', _NDJSON),
    (b'{"stream": 5, "event": 5}', _NDJSON), (b"\xff\xff\xff\xff" + b"\x10" * 60, _ARROW),
    (b"", _ARROW), (b"ARROW1\0\0", _ARROW), (b"n=1", "image/png"), (b"n=1", "a/b; charset=\xc3"),
    (b"n=1", "application/json; source=99"), (b'{"n": "x"}', "text/csv; source=0"),
)  # fmt: skip


def mutated(rng: random.Random, body: bytes) -> bytes:
    """With a few bytes changed, doubled or left out."""
    one = bytearray(body)
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(one) + 1)
        how = rng.randrange(4)
        if how == 0 and at < len(one):
            one[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            one[at:at] = rng.randbytes(rng.randrange(1, 6))
        elif how == 2:
            del one[at : at + rng.randrange(1, 8)]
        else:
            one[at:at] = one[max(0, at - 20) : at]
    return bytes(one)
