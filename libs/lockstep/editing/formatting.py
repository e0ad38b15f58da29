"""Format: spaces and line breaks in one way; every word, comment and string stays as it was.

Clauses begin lines; a statement that stood on one line and fits there stays on it. Where an author
broke a line within a clause, it stays broken, indented.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from lockstep.editing.pieces import Piece, pieces, solid, statements

WIDTH: Final = 100
STEP: Final = "    "
_CLAUSES: Final = (
    "select", "group", "having", "order", "limit", "offset", "insert", "update", "delete", "return",
    "output", "aggregate",
)  # fmt: skip
_TIGHT_BEFORE: Final = (",", ";", ")", "]", ".", ":")
_TIGHT_AFTER: Final = ("(", "[", ".", ":", "#", "@", "!", "`")
_APART: Final = ("==", "!=", "<=", ">=", "->")


def formatted(text: str) -> str:
    """The same app, laid out; a text that is no app, too. Doing it twice changes nothing more."""
    lines: list[str] = []
    depth = 0
    for part in statements(pieces(text)):
        words = solid(part)
        if words and words[0].says("end"):
            depth = max(0, depth - 1)
        _append(lines, part, STEP * depth)
        if words and words[-1].says("begin"):
            depth += 1
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(lines) + "\n" if lines else ""


def _append(lines: list[str], part: Sequence[Piece], indent: str) -> None:
    """One statement with the comments before it."""
    head, body = _headed(part)
    if lines and head.startswith("\n\n") and lines[-1]:
        lines.append("")
    for number, each in enumerate(_comments(head)):
        is_trailing = number == 0 and lines and not head.startswith("\n") and lines[-1]
        if is_trailing:
            lines[-1] = f"{lines[-1]}  {each}"
        elif each or (lines and lines[-1]):
            lines += [f"{indent}{line}".rstrip() for line in each.split("\n")]
    if not body:
        return
    rows = list(_rows(body))
    one = " ".join(row.strip() for row in rows)
    is_short = "\n" not in _source(body) and len(indent) + len(one) <= WIDTH
    is_plain = all(each.kind not in ("comment", "script") for each in body)
    if is_short and is_plain and not body[0].value.startswith("@"):
        rows = [one]
    lines += [f"{indent}{line}" for line in rows]


def _source(body: Sequence[Piece]) -> str:
    return "".join(each.value for each in body)


def _headed(part: Sequence[Piece]) -> tuple[str, Sequence[Piece]]:
    """Spaces and comments before the first word, and the rest."""
    for number, each in enumerate(part):
        if each.kind not in ("space", "comment"):
            return _source(part[:number]), part[number:]
    return _source(part), ()


def _comments(head: str) -> Iterator[str]:
    """The comments in front of a statement; an empty one for each gap between them."""
    gap = 0
    is_first = True
    for each in pieces(head):
        if each.kind == "space":
            gap = each.value.count("\n")
            continue
        if not is_first and gap > 1:
            yield ""
        yield each.value.rstrip()
        is_first, gap = False, 0
    if not is_first and gap > 1:
        yield ""


def _rows(body: Sequence[Piece]) -> Iterator[str]:
    """The lines of a statement, without its indent."""
    row, depth, before, gap = "", 0, None, ""
    for each in body:
        if each.kind == "space":
            gap = each.value
            continue
        depth -= each.value in (")", "]")
        if before is None:
            row = each.value
        elif _begins_line(each, before, depth, gap):
            yield row
            nested = STEP * (depth > 0 or not _is_head(each, depth))
            row = nested + each.value
        else:
            row += _between(before, each, gap) + each.value
        depth += each.value in ("(", "[")
        before, gap = each, ""
    if row:
        yield row


def _is_head(each: Piece, depth: int) -> bool:
    """Whether it begins a clause or an annotation."""
    return depth == 0 and (
        each.says(*_CLAUSES, "from", "define", "partition", "begin") or each.value == "@"
    )


def _begins_line(each: Piece, before: Piece, depth: int, gap: str) -> bool:
    if before.kind == "comment" and before.value.startswith("--"):
        return True
    if each.kind == "comment":
        return "\n" in gap
    if depth > 0 or each.value in (";", ","):
        return "\n" in gap and each.value not in (";", ",", ")", "]")
    if each.says("insert", "update") and before.says("or"):
        return False
    if each.says("output", "select", "from", "define", "partition") or each.says(*_CLAUSES):
        return not before.says("or", "for", "define") and before.value not in ("(", "=", "#", ".")
    return "\n" in gap


def _between(before: Piece, each: Piece, gap: str) -> str:
    """The space between two pieces of a line."""
    if each.kind == "comment" or before.kind == "comment":
        return "  " if each.kind == "comment" else " "
    if before.value in _TIGHT_AFTER and before.kind == "symbol":
        return ""
    if each.value in _TIGHT_BEFORE and each.kind == "symbol":
        return ""
    if before.value in (",", ";") or each.value in _APART or before.value in _APART:
        return " "
    return " " if gap else ""
