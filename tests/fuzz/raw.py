"""Bytes that are no HTTP, or hardly: lengths that lie, chunks that are none, endless heads."""

from __future__ import annotations

import random
from typing import Final

from tests.fuzz.operations import NOWHERE, Known, Operation

LENGTHS: Final = (
    "Content-Length: -1", "Content-Length: +5", "Content-Length: 0x5", "Content-Length: 5, 6",
    "Content-Length: 99999999999999999999999", "Content-Length: five", "Content-Length:",
    "Content-Length: 4\r\nContent-Length: 5", "Content-Length: 5\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked\r\nContent-Length: 5", "Transfer-Encoding: xchunked",
    "Content-Length: 1 5", "Content-Length: ٥",
)  # fmt: skip
CHUNKS: Final = (
    b"ZZ\r\nxx\r\n0\r\n\r\n",
    b"-5\r\nhello\r\n",
    b"ffffffffffffffffff\r\n",
    b"5\r\nhi",
)
NO_HTTP: Final = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x07" * 80 + b"\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\r\n\r\n\r\n", b"GET\r\n\r\n", b"GET /\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n", b"\0" * 64 + b"\r\n\r\n", b"*1\r\n$4\r\nPING\r\n\r\n",
    b"help\r\n\r\n",
    b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n", b"SSH-2.0-x\r\n\r\n",
    b"GET http://example.com/ HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", b"GET / HTTP/1.1\r\n folded: x\r\n\r\n",
)  # fmt: skip


def shot(rng: random.Random, one: Operation, known: Known) -> tuple[str, bytes, bytes, bool]:
    """Its kind, head and body, and whether it must fail."""
    how = rng.choice((_no_http, _length, _chunks, _short, _heads, _line))
    return how(rng, one, known)


def _start(one: Operation, known: Known, *more: str, host: bool = True) -> bytes:
    path = one.path
    names = dict(known.names)
    if known.changes and one.method != "GET":
        names["app"] = NOWHERE  # who does not read its body may do what it asks for
    for name in one.names:
        path = path.replace("{" + name + "}", names.get(name, "nothing"))
    lines = [f"{one.method} {path} HTTP/1.1"]
    lines += [f"Host: {known.host}"] if host else []
    lines += [f"Authorization: Bearer {known.token}", *more, "Connection: close", "", ""]
    return "\r\n".join(lines).encode()


def _no_http(rng: random.Random, _: Operation, __: Known) -> tuple[str, bytes, bytes, bool]:
    sent = rng.choice(NO_HTTP) if rng.random() < 0.6 else rng.randbytes(60) + b"\r\n\r\n"
    return "no HTTP", sent, b"", True


def _length(rng: random.Random, one: Operation, known: Known) -> tuple[str, bytes, bytes, bool]:
    must_fail = bool(one.media)
    return "length", _start(one, known, rng.choice(LENGTHS)), b"hello", must_fail


def _chunks(rng: random.Random, one: Operation, known: Known) -> tuple[str, bytes, bytes, bool]:
    head = _start(one, known, "Transfer-Encoding: chunked")
    return "chunks", head, rng.choice(CHUNKS), bool(one.media)


def _short(rng: random.Random, one: Operation, known: Known) -> tuple[str, bytes, bytes, bool]:
    head = _start(one, known, f"Content-Length: {rng.choice((10, 5_000, 8_000_000))}")
    return "short body", head, b'{"n": 1', bool(one.media)


def _heads(rng: random.Random, one: Operation, known: Known) -> tuple[str, bytes, bytes, bool]:
    strange = rng.choice(
        (
            (f"Host: {known.host}", True),
            ("X-Long: " + "x" * 70_000, True),
            ("X-Nul: a\0b", True),
            ("no colon here", True),
            ("X-Bad Name: x", True),
            ("\r\n".join(f"X-{i}: {i}" for i in range(2_000)), False),
        )
    )
    return "head", _start(one, known, strange[0]), b"", strange[1] and not one.is_open


def _line(rng: random.Random, one: Operation, known: Known) -> tuple[str, bytes, bytes, bool]:
    path = rng.choice(("/" + "a" * 70_000, "/%", "/%zz", "//", "/?" + "&" * 3_000, "/\xff", "/a b"))
    head = f"{one.method} {path} HTTP/1.1\r\nHost: {known.host}\r\nConnection: close\r\n\r\n"
    return "request line", head.encode("latin-1"), b"", True
