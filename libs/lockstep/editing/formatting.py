"""Format: spaces and line breaks in one way; every word, comment and string stays as it was.

Clauses begin lines; a statement that stood on one line and fits there stays on it. Where an author
broke a line within a clause, it stays broken, indented. A text whose lines all end with a carriage
return and a line feed keeps that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from lockstep.editing.pieces import Piece, is_open, pieces, solid, statements

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
    if 0 < text.count("\n") == text.count("\r\n"):
        return _formatted(text.replace("\r\n", "\n")).replace("\n", "\r\n")
    return _formatted(text)


def _formatted(text: str) -> str:
    lines: list[str] = []
    depth = 0
    for part in statements(map(_with_line_feeds, pieces(text))):
        words = solid(part)
        if words and words[0].says("end"):
            depth = max(0, depth - 1)
        _append(lines, part, STEP * depth)
        if words and words[-1].says("begin"):
            depth += 1
    while lines and not lines[-1]:
        lines.pop()
    laid_out = "\n".join(lines)
    # A string that nothing closes holds the last line end already.
    return laid_out if laid_out.endswith("\n") or not lines else laid_out + "\n"


def _with_line_feeds(each: Piece) -> Piece:
    """A comment of a text that ends its lines in both ways. Strings stay as they are; spaces, too:
    none is written as it stands, and one that is a lone carriage return keeps two words apart."""
    if each.kind != "comment":
        return each
    return each._replace(value=each.value.replace("\r\n", "\n").rstrip("\r"))


def _append(lines: list[str], part: Sequence[Piece], indent: str) -> None:
    """One statement with the comments before it."""
    head, body = _headed(part)
    breaks = head[: len(head) - len(head.lstrip())].count("\n")
    if lines and breaks > 1 and lines[-1]:
        lines.append("")
    for number, (each, column) in enumerate(_comments(head)):
        is_trailing = number == 0 and lines and not breaks and lines[-1]
        if is_trailing:
            lines[-1] = f"{lines[-1]}  {each}"
        elif each or (lines and lines[-1]):
            lines.append(f"{indent}{_moved(each, len(indent) - column)}" if each else "")
    if not body:
        return
    rows = list(_rows(body))
    one = " ".join(row.strip() for row in rows)
    is_short = "\n" not in _source(body).rstrip() and len(indent) + len(one) <= WIDTH
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


def _comments(head: str) -> Iterator[tuple[str, int]]:
    """The comments in front of a statement, each with the column that it stood in; an empty one for
    each gap between them."""
    breaks = 0
    is_first = True
    for each in pieces(head):
        if each.kind == "space":
            breaks = each.value.count("\n")
            continue
        if not is_first and breaks > 1:
            yield "", 0
        yield each.value.rstrip(), each.start - (head.rfind("\n", 0, each.start) + 1)
        is_first, breaks = False, 0
    if not is_first and breaks > 1:
        yield "", 0


def _moved(comment: str, columns: int) -> str:
    """A comment whose later lines move as its first one does."""
    first, *more = comment.split("\n")
    return "\n".join([first, *(_shifted(line, columns) for line in more)])


def _shifted(line: str, columns: int) -> str:
    blanks = len(line) - len(line.lstrip())
    kept = line[min(blanks, -columns) :] if columns < 0 else " " * columns + line
    return kept.rstrip()


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
    if is_open(before):
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
