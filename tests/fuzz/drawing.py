"""What strangers send to a door, drawn with a seed from what its OpenAPI document says. Pure: the
same seed, document and names give the same bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote

from tests.fuzz import raw
from tests.fuzz.nasty import CONTROL, JUNK_EVENTS, NUMBERS, TEXTS, TRAVERSALS, mutated
from tests.fuzz.operations import BYTES, FORM, JSON, NOWHERE, Known, Operation, misfits, sample

HUGE_BYTES: Final = 9_000_000
"""Over `receiver.max_body_bytes`, which all doors have as their limit."""
KEYS: Final = 12
ALL_METHODS: Final = ("GET", "PUT", "POST", "DELETE", "PATCH", "TRACE", "OPTIONS", "PROPFIND", "X")


@dataclass(frozen=True, slots=True)
class Shot:
    """What is sent over a connection of its own: `head`, `body`, `filler` blanks.

    `must_fail`: no 2xx may come. `may_hang_up`: the door may close without an answer. `key`: the
    Idempotency-Key, of which one send counts.
    """

    door: str
    kind: str
    operation: str
    head: bytes
    body: bytes = b""
    filler: int = 0
    must_fail: bool = False
    may_hang_up: bool = False
    key: str = ""

    @property
    def size(self) -> int:
        """Of all its bytes."""
        return len(self.head) + len(self.body) + self.filler


@dataclass(slots=True)
class Request:
    """A request while it is drawn."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes = b""
    filler: int = 0
    has_length: bool = True

    def put(self, name: str, value: str) -> None:
        """In place of one of that name."""
        self.headers = [one for one in self.headers if one[0] != name] + [(name, value)]

    def head(self) -> bytes:
        """As it goes over the wire."""
        lines = [f"{self.method} {self.target} HTTP/1.1", *(f"{n}: {v}" for n, v in self.headers)]
        if self.has_length and (self.body or self.filler or self.method in ("POST", "PUT")):
            lines.append(f"Content-Length: {len(self.body) + self.filler}")
        return "\r\n".join([*lines, "Connection: close", "", ""]).encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class Kind:
    """A way to go wrong: for which operations, how often beside the others, and how."""

    name: str
    weight: int
    suits: Callable[[Operation], bool]
    draw: Callable[[random.Random, Operation, Known], tuple[Request, bool]]


def drawn(
    door: str, operations: Sequence[Operation], known: Known, *, seed: int, count: int
) -> Iterator[Shot]:
    """That many; one operation after the other, so that each is touched."""
    rng = random.Random(f"{seed}/{door}")
    methods: dict[str, list[str]] = {}
    for one in operations:
        methods.setdefault(one.path, []).append(one.method)
    known = replace(known, values={**known.values, "methods": methods})
    for number in range(count):
        operation = operations[number % len(operations)]
        fitting = [kind for kind in KINDS if kind.suits(operation)]
        if rng.random() < RAW_SHARE:
            kind, head, body, must_fail = raw.shot(rng, operation, known)
            yield Shot(door, kind, operation.name, head, body, 0, must_fail, may_hang_up=True)
            continue
        (kind_drawn,) = rng.choices(fitting, [kind.weight for kind in fitting])
        request, must_fail = kind_drawn.draw(rng, operation, known)
        yield Shot(
            door, kind_drawn.name, operation.name, request.head(), request.body, request.filler,
            must_fail, may_hang_up=bool(request.filler) or not request.has_length,
            key=dict(request.headers).get("Idempotency-Key", ""),
        )  # fmt: skip


def plain(rng: random.Random, one: Operation, known: Known, *, harmless: bool) -> Request:
    """A request as it should be. `harmless`: of an app that there is not, where it could end it."""
    names = dict(known.names)
    if harmless and known.changes and one.method != "GET":
        names["app"] = NOWHERE
    target = one.path
    for name in one.names:
        target = target.replace("{" + name + "}", quote(names.get(name, "nothing"), safe=""))
    headers = [("Host", known.host), ("Authorization", f"Bearer {known.token}")]
    request = Request(one.method, target, headers)
    if one.media == BYTES:
        request.body = known.event if "{stream}" in one.path else known.line
    elif one.media == JSON:
        request.body = json.dumps(sample(one.schema, rng, known.values)).encode()
        headers.append(("Content-Type", JSON))
    elif one.media == FORM:
        fields = {name: known.values.get(name, "word") for name in one.properties}
        request.body = "&".join(f"{n}={quote(str(v))}" for n, v in fields.items()).encode()
        headers.append(("Content-Type", FORM))
    elif one.media:
        request.body = str(known.values["text"]).encode()
        headers.append(("Content-Type", one.media))
    return request


def _unproven(rng: random.Random, one: Operation, known: Known) -> tuple[Request, bool]:
    request = plain(rng, one, known, harmless=False)
    request.headers = [("Host", known.host), *request.headers[2:]]
    name, value = rng.choice(known.bad)
    if name == "?":
        request.target += f"?token={quote(value)}"
    elif name:
        request.headers.append((name, value))
    return request, not one.is_open


def _without_right(rng: random.Random, one: Operation, known: Known) -> tuple[Request, bool]:
    request = plain(rng, one, known, harmless=False)
    request.put("Authorization", f"Bearer {known.weak}")
    return request, True


def _missing(rng: random.Random, one: Operation, known: Known) -> tuple[Request, bool]:
    request = plain(rng, one, known, harmless=False)
    body = json.loads(request.body)
    del body[rng.choice(list(one.required))]
    request.body = json.dumps(body).encode()
    return request, True


def _wrong_type(rng: random.Random, one: Operation, known: Known) -> tuple[Request, bool]:
    request = plain(rng, one, known, harmless=False)
    name, other = rng.choice(list(misfits(one)))
    body = json.loads(request.body) | {name: other}
    request.body = json.dumps(body).encode()
    return request, True


def _no_object(rng: random.Random, one: Operation, known: Known) -> tuple[Request, bool]:
    request = plain(rng, one, known, harmless=False)
    request.body = rng.choice((b"[]", b"5", b'"x"', b"null", b"true", b"[{}]", b"1e5"))
    return request, True


def _junk(rng: random.Random, one: Operation, known: Known) -> tuple[Request, bool]:
    request = plain(rng, one, known, harmless=False)
    if one.media == BYTES:
        request.body, kind = rng.choice(JUNK_EVENTS)
        request.put("Content-Type", kind)
        return request, True
    cut = request.body[: rng.randrange(1, max(2, len(request.body) - 1))]
    request.body = rng.choice((cut, rng.randbytes(40), b"\xff\xfe{}", b"{" + cut, b"\x00", b"NaN"))
    return request, one.media != FORM


def _deep(rng: random.Random, one: Operation, known: Known) -> tuple[Request, bool]:
    request = plain(rng, one, known, harmless=False)
    opening = rng.choice((b"[", b'{"a":', b'[{"n":', b'{"n": 1, "text": "x", "query": '))
    request.body = opening + rng.choice((b"[", b'{"a":')) * rng.choice((1_500, 10_000, 60_000))
    if one.media == BYTES:
        request.put("Content-Type", rng.choice((JSON, "application/x-ndjson")))
    return request, one.media != FORM


def _encoded(rng: random.Random, one: Operation, known: Known) -> tuple[Request, bool]:
    request = plain(rng, one, known, harmless=False)
    request.put("Content-Encoding", rng.choice(("gzip", "deflate", "br", "zstd", "compress", "x")))
    request.body = rng.choice((b"\x1f\x8b", b"\x78\x9c", b"")) + rng.randbytes(60)
    return request, bool(one.media) and one.media != FORM


def _huge(rng: random.Random, one: Operation, known: Known) -> tuple[Request, bool]:
    request = plain(rng, one, known, harmless=False)
    request.filler = HUGE_BYTES + rng.randrange(1_000)
    return request, one.media != FORM


def _mutated(rng: random.Random, one: Operation, known: Known) -> tuple[Request, bool]:
    request = plain(rng, one, known, harmless=True)
    request.body = mutated(rng, request.body)
    return request, False


def _odd_value(rng: random.Random, one: Operation, known: Known) -> tuple[Request, bool]:
    request = plain(rng, one, known, harmless=True)
    if one.media == FORM:
        field = rng.choice(list(one.properties))
        value = quote(str(rng.choice((*TEXTS, *NUMBERS))), errors="surrogatepass")
        request.body += f"&{field}={value}".encode()
        return request, False
    body = json.loads(request.body)
    name = rng.choice(list(one.properties) or ["a"])
    is_text = isinstance(body.get(name), str) or rng.random() < 0.5
    body[name] = rng.choice(TEXTS) if is_text else rng.choice(NUMBERS)
    request.body = json.dumps(body).encode("utf-8", "surrogatepass")
    return request, False


def _control(rng: random.Random, one: Operation, known: Known) -> tuple[Request, bool]:
    request = plain(rng, one, known, harmless=False)
    at = rng.choice(("name", "end", "query"))
    strange = rng.choice(CONTROL)
    if at == "query":
        request.target += f"?{rng.choice(one.query or ('a',))}=x{strange}y"
    elif at == "end" or not one.names:
        request.target += strange
    else:
        old = quote(known.names.get(one.names[0], "nothing"), safe="")
        request.target = request.target.replace(f"/{old}", f"/{old}{strange}", 1)
    return request, True


def _odd_name(rng: random.Random, one: Operation, known: Known) -> tuple[Request, bool]:
    name = rng.choice(one.names)
    odd = rng.choice(
        (
            *TRAVERSALS,
            *(quote(text, "", errors="surrogatepass") for text in TEXTS if "\0" not in text),
        )
    )
    held = replace(known, names={**known.names, name: "odd-name-here"})
    request = plain(rng, one, held, harmless=name != "app")
    request.target = request.target.replace("odd-name-here", odd[:6_000])
    return request, False


def _odd_query(rng: random.Random, one: Operation, known: Known) -> tuple[Request, bool]:
    request = plain(rng, one, known, harmless=True)
    name = rng.choice((*one.query, "unknown"))
    value = rng.choice((*TEXTS, *map(str, NUMBERS), "²", "-1", "1.2.3"))
    request.target += f"?{name}={quote(str(value)[:3_000], errors='surrogatepass')}"
    return request, False


def _odd_header(rng: random.Random, one: Operation, known: Known) -> tuple[Request, bool]:
    request = plain(rng, one, known, harmless=True)
    name = rng.choice(
        ("Timestamp-Ms", "Idempotency-Key", "Accept", "Content-Type", "Last-Event-ID", "Origin",
         "X-Forwarded-For", "traceparent", "Cookie", "Range", "Expect", "Upgrade",
         "Sec-WebSocket-Protocol", "X-Lockstep-Forwarded", "If-Modified-Since", "Host")
    )  # fmt: skip
    value = str(rng.choice((*TEXTS, *map(str, NUMBERS), "²")))[:3_000]
    value = "".join(one for one in value if one.isprintable()).strip() or "x"
    request.put(name, value)
    return request, False


def _wrong_method(rng: random.Random, one: Operation, known: Known) -> tuple[Request, bool]:
    request = plain(rng, one, known, harmless=True)
    known_here = known.values["methods"].get(one.path, (one.method,))
    request.method = rng.choice([name for name in ALL_METHODS if name not in known_here])
    return request, True


def _good(rng: random.Random, one: Operation, known: Known) -> tuple[Request, bool]:
    return plain(rng, one, known, harmless=True), False


def _replayed(rng: random.Random, one: Operation, known: Known) -> tuple[Request, bool]:
    """A good event under a key that others have, with another value."""
    request = plain(rng, one, known, harmless=True)
    request.put("Idempotency-Key", f"replayed-{rng.randrange(KEYS)}")
    request.body = request.body.replace(b"1", str(rng.randrange(1, 10**6)).encode())
    return request, False


def _always(_: Operation) -> bool:
    return True


def _takes_json(one: Operation) -> bool:
    return one.media == JSON


def _takes_body(one: Operation) -> bool:
    return bool(one.media)


def _takes_events(one: Operation) -> bool:
    return one.media == BYTES


RAW_SHARE: Final = 0.08
KINDS: Final = (
    Kind("no proof", 6, _always, _unproven),
    Kind("no right", 3, lambda one: "app" in one.names, _without_right),
    Kind("missing field", 5, lambda one: _takes_json(one) and bool(one.required), _missing),
    Kind("wrong type", 6, lambda one: _takes_json(one) and any(misfits(one)), _wrong_type),
    Kind("no object", 3, _takes_json, _no_object),
    Kind("junk", 5, _takes_body, _junk),
    Kind("nested", 3, lambda one: one.media in (JSON, BYTES), _deep),
    Kind("encoding", 3, _takes_body, _encoded),
    Kind("huge", 1, _takes_body, _huge),
    Kind("mutated", 4, _takes_body, _mutated),
    Kind("odd value", 5, lambda one: one.schema.get("type") == "object", _odd_value),
    Kind("control characters", 3, _always, _control),
    Kind("odd name", 5, lambda one: bool(one.names), _odd_name),
    Kind("odd query", 3, _always, _odd_query),
    Kind("odd header", 3, _always, _odd_header),
    Kind("wrong method", 2, _always, _wrong_method),
    Kind("good", 2, _always, _good),
    Kind("replayed", 6, _takes_events, _replayed),
)  # fmt: skip
