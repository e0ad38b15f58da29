"""Java's strings where they differ from Python's: order, hash, trimming, case."""

from __future__ import annotations

from lockstep.plan.java import wrap_int

_WHITE = "".join(map(chr, range(33)))


def code_units(text: str) -> memoryview:
    """The text's UTF-16 code units, which order and hash go by."""
    return memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")


def compare(left: str, right: str) -> int:
    """Java's compareTo: the difference of the first unequal units, else of the lengths."""
    if left == right:
        return 0
    a, b = code_units(left), code_units(right)
    for x, y in zip(a, b, strict=False):
        if x != y:
            return x - y
    return len(a) - len(b)


def hash_code(text: str) -> int:
    """Java's String.hashCode: h = 31 * h + unit, wrapped to 32 bits."""
    value = 0
    for unit in code_units(text):
        value = (31 * value + unit) & 0xFFFFFFFF
    return wrap_int(value)


def trim(text: str) -> str:
    """Without the space and everything below it at both ends."""
    return text.strip(_WHITE)


def equals_ignore_case(left: str, right: str | None) -> bool:
    """Character by character, upper or lower forms equal."""
    if right is None or len(left) != len(right):
        return False
    return all(
        x == y or x.upper() == y.upper() or x.lower() == y.lower()
        for x, y in zip(left, right, strict=True)
    )
