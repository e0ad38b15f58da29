"""Queries of Siddhi 1 to 4 in the words of Siddhi 5: edits of a text, found on its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lockstep.migration.findings import Findings, Place
from lockstep.migration.statements import end_of, start_of
from lockstep.siddhiql.catalogue import Catalogue, ExtensionKind
from lockstep.siddhiql.catalogue.core import default_catalogue
from lockstep.siddhiql.syntax.lexer import Token

_TYPES: Final = {"STRING", "INT", "LONG", "FLOAT", "DOUBLE", "BOOL", "OBJECT"}
_EVENT_KINDS: Final = {"ALL", "CURRENT", "EXPIRED"}
_CALLED: Final = (
    ExtensionKind.FUNCTION,
    ExtensionKind.AGGREGATOR,
    ExtensionKind.STREAM_FUNCTION,
    ExtensionKind.WINDOW,
)


@dataclass(frozen=True)
class Edit:
    """The text from `start` to `end` becomes `text`."""

    start: int
    end: int
    text: str


def edited(text: str, start: int, end: int, edits: Sequence[Edit]) -> str:
    """A part of the text with the edits that lie in it."""
    parts, at = [], start
    for edit in sorted(edits, key=lambda one: (one.start, one.end)):
        if start <= edit.start and edit.end <= end and edit.start >= at:
            parts += [text[at : edit.start], edit.text]
            at = edit.end
    return "".join([*parts, text[at:end]])


class Rewriter:
    """The edits of one statement; `place` turns a line of the text into a place of the input."""

    def __init__(self, text: str, file: str, first_line: int, findings: Findings) -> None:
        self._text = text
        self._file = file
        self._first = first_line
        self._findings = findings
        self._catalogue: Catalogue = default_catalogue()
        self.edits: list[Edit] = []

    def place(self, token: Token) -> Place:
        """Where a token stands in the input."""
        return Place(self._file, self._first + int(token.line or 1) - 1)

    def rewrite(self, body: Sequence[Token]) -> list[Edit]:
        """All edits that make a statement one of Siddhi 5."""
        for at in range(len(body)):
            self._call(body, at)
            self._count_all(body, at)
            self._overwrite(body, at)
            self._prefix_behind_set(body, at)
            self._kind_of_events(body, at)
            self._bare_type(body, at)
        self._selection_behind(body)
        return self.edits

    def _put(self, token: Token, new: str, why: str, last: Token | None = None) -> None:
        start, end = start_of(token), end_of(last or token)
        self.edits.append(Edit(start, end, new))
        old = self._text[start:end]
        what = f"{old} → {new}" if new else old
        self._findings.changed(self.place(token), what, why)

    def _call(self, body: Sequence[Token], at: int) -> None:
        """A window or a function that has another name, or another case, in Siddhi 5."""
        if _type(body, at + 1) != "_LPAR" or not _is_word(body[at]):
            return
        token, namespace = body[at], ""
        first = token
        if _type(body, at - 1) == "_COLON" and at >= 2 and _is_word(body[at - 2]):
            first, namespace = body[at - 2], str(body[at - 2])
        before = at - 3 if namespace else at - 1
        is_window = _type(body, before) == "_DOT" and _type(body, before - 1) == "WINDOW"
        kinds = (ExtensionKind.WINDOW,) if is_window else _CALLED
        if any(self._catalogue.find(kind, namespace or None, str(token)) for kind in kinds):
            return
        written = f"{namespace}:{token}" if namespace else str(token)
        new = self._of_before(kinds[0], written.lower()) or self._in_other_case(kinds, written)
        if new is not None and new != written:
            self._put(first, new, "it is called so in Siddhi 5", token)

    def _of_before(self, kind: ExtensionKind, written: str) -> str | None:
        """The name of today of what was called so, in small letters, in Siddhi 1 to 4."""
        declared = self._catalogue.of(kind)
        return next((each.full_name for each in declared if written in each.formerly), None)

    def _in_other_case(self, kinds: Sequence[ExtensionKind], written: str) -> str | None:
        """The name that differs from this one in case only; of a window also in the colon behind
        its pack: `unique:externalTimeBatch` was `uniqueExternalTimeBatch`."""
        names = [name for kind in kinds for name in self._catalogue.names(kind)]
        folded = {name.lower(): name for name in names}
        if kinds == (ExtensionKind.WINDOW,):
            folded = {name.replace(":", "").lower(): name for name in names} | folded
        return folded.get(written.lower())

    def _count_all(self, body: Sequence[Token], at: int) -> None:
        """`count(*)` is `count()`."""
        if (
            _word(body, at) == "count"
            and _type(body, at - 1) != "_COLON"
            and [_type(body, at + ahead) for ahead in (1, 2, 3)] == ["_LPAR", "STAR", "_RPAR"]
        ):
            self.edits.append(Edit(start_of(body[at + 1]), end_of(body[at + 3]), "()"))
            why = "it is written so in Siddhi 5"
            self._findings.changed(self.place(body[at]), "count(*) → count()", why)

    def _overwrite(self, body: Sequence[Token], at: int) -> None:
        if _type(body, at) == "INSERT" and _word(body, at + 1) == "overwrite":
            last = body[at + 2] if _type(body, at + 2) == "INTO" else body[at + 1]
            self._put(body[at], "update or insert into", "Siddhi 5 says it so", last)

    def _prefix_behind_set(self, body: Sequence[Token], at: int) -> None:
        """`update T set Other.x = v` is `update T set x = v`: no other table can be meant."""
        if _type(body, at) != "SET":
            return
        update = next((b for b in range(at, -1, -1) if _type(body, b) == "UPDATE"), at)
        target = update + (4 if _type(body, update + 1) == "OR" else 1)
        depth, begins = 0, True
        for item in range(at + 1, len(body)):
            kind = _type(body, item)
            depth += (kind == "_LPAR") - (kind == "_RPAR")
            if depth < 0 or (depth == 0 and kind in ("ON", "_SEMI")):
                return
            is_name = [_type(body, item + 1), _type(body, item + 3)] == ["_DOT", "_ASSIGN"]
            if begins and is_name and _name(body[item]) != _name(body[target]):
                why = f"'set' changes attributes of {_name(body[target])} only"
                self._put(body[item], str(body[item + 2]), why, body[item + 2])
            begins = depth == 0 and kind == "_COMMA"

    def _kind_of_events(self, body: Sequence[Token], at: int) -> None:
        """`insert into S for expired-events` is `insert expired events into S`."""
        if _type(body, at) != "FOR" or _type(body, at + 1) not in _EVENT_KINDS:
            return
        dash = _type(body, at + 2) == "MINUS"
        last = at + (3 if dash else 2)
        if _type(body, last) != "EVENTS":
            return
        kind = str(body[at + 1]).lower()
        insert = next((b for b in range(at, -1, -1) if _type(body, b) == "INSERT"), None)
        if insert is not None and _type(body, insert + 1) == "INTO":
            self._put(body[insert], f"insert {kind} events", "Siddhi 5 says it in front")
            self._put(body[at], "", "it stands behind 'insert' now", body[last])
        elif dash:
            self._put(body[at + 1], f"{kind} events", "Siddhi 5 has no dash here", body[last])

    def _bare_type(self, body: Sequence[Token], at: int) -> None:
        """`convert(x, long)` is `convert(x, 'long')`."""
        if (
            _type(body, at) in _TYPES
            and _type(body, at - 1) == "_COMMA"
            and _type(body, at + 1) == "_RPAR"
            and _called(body, at) in ("convert", "cast")
        ):
            self._put(body[at], f"'{str(body[at]).lower()}'", "the type is a string in Siddhi 5")

    def _selection_behind(self, body: Sequence[Token]) -> None:
        """`from S insert into O a, b` is `from S select a, b insert into O`."""
        depth = 0
        at = -1
        for token in body:
            at += 1
            depth += (token.type == "_LPAR") - (token.type == "_RPAR")
            if depth == 0 and token.type in ("SELECT", "PARTITION", "DEFINE", "UPDATE", "DELETE"):
                return
            if depth == 0 and token.type == "INSERT":
                break
        else:
            return
        into = next((b for b in range(at, len(body)) if _type(body, b) == "INTO"), None)
        if into is None or into + 2 >= len(body):
            return
        behind = into + 2
        if _type(body, behind) in ("FOR", "PARTITION", "ON", "SET"):
            return
        start, end = start_of(body[behind]), end_of(body[-1])
        rest = edited(self._text, start, end, self.edits)
        self.edits = [edit for edit in self.edits if not start <= edit.start < end]
        self._put(body[at], f"select {rest}\n{body[at]}", "the selection stands in front now")
        self._put(body[behind], "", "the selection stands in front now", body[-1])


def _type(body: Sequence[Token], at: int) -> str:
    return body[at].type if 0 <= at < len(body) else ""


def _word(body: Sequence[Token], at: int) -> str:
    return str(body[at]).lower() if 0 <= at < len(body) else ""


def _name(token: Token) -> str:
    return str(token).strip("`")


def _is_word(token: Token) -> bool:
    return str(token)[:1].isalpha() or str(token)[:1] == "_"


def _called(body: Sequence[Token], at: int) -> str:
    """The function whose argument a token is."""
    depth = 0
    for before in range(at - 1, -1, -1):
        depth += (body[before].type == "_RPAR") - (body[before].type == "_LPAR")
        if depth < 0:
            return _word(body, before - 1)
    return ""
