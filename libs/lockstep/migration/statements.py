"""A text of SiddhiQL, of any age, as statements with annotations: on tokens, with their places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lockstep.siddhiql.syntax.lexer import Token, tokens

_OPENING = {"_LPAR", "_LSQB"}
_CLOSING = {"_RPAR", "_RSQB"}


@dataclass(frozen=True)
class Element:
    """`key='value'` of an annotation, or a value alone."""

    key: str
    value: str
    line: int


@dataclass(frozen=True)
class Annotation:
    """An annotation; `name` as written, with its prefix (`Plan:name`)."""

    name: str
    elements: tuple[Element, ...]
    nested: tuple[Annotation, ...]
    start: int
    end: int
    line: int

    def get(self, key: str) -> str | None:
        """The value of an element; keys are compared without regard to case."""
        for element in self.elements:
            if element.key.lower() == key.lower():
                return element.value
        return None


@dataclass(frozen=True)
class Statement:
    """Annotations, then tokens up to the semicolon. `before`: where the text in front begins."""

    annotations: tuple[Annotation, ...]
    body: tuple[Token, ...]
    before: int
    line: int

    @property
    def start(self) -> int:
        """Where it begins, its annotations included."""
        if self.annotations:
            return self.annotations[0].start
        return start_of(self.body[0])

    @property
    def kind(self) -> str:
        """The words that it begins with: `DEFINE STREAM`, `FROM`, `PARTITION`; else empty."""
        if not self.body:
            return ""
        first = self.body[0].type
        return f"{first} {self.body[1].type}" if first == "DEFINE" and self.body[1:] else first


@dataclass
class _Cursor:
    tokens: Sequence[Token]
    at: int = 0
    made: list[Annotation] = field(default_factory=list)

    def type(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.tokens[place].type if place < len(self.tokens) else ""


def start_of(token: Token) -> int:
    """Where a token begins in the text."""
    return token.start_pos or 0


def end_of(token: Token) -> int:
    """Where a token ends in the text."""
    return token.end_pos or 0


def unquoted(text: str) -> str:
    """The value of a string token; other tokens as they are."""
    for quote in ('"""', "'", '"'):
        if len(text) >= 2 * len(quote) and text.startswith(quote) and text.endswith(quote):
            return text[len(quote) : -len(quote)]
    return text


def statements(text: str) -> tuple[list[Statement], int]:
    """The statements, and where the text behind the last one begins; SiddhiQLError for none."""
    found: list[Statement] = []
    before = 0
    for part, end in _parts(list(tokens(text))):
        made, body = annotations_of(part)
        if made or body:
            found.append(Statement(tuple(made), tuple(body), before, int(part[0].line or 1)))
        before = end
    return found, before


def _parts(all_tokens: list[Token]) -> Iterator[tuple[list[Token], int]]:
    """The tokens of each statement without its semicolon, and where the next one begins."""
    part: list[Token] = []
    depth = 0
    inside = False
    for token in all_tokens:
        if token.type in _OPENING:
            depth += 1
        elif token.type in _CLOSING:
            depth -= 1
        if depth == 0:
            if token.type == "BEGIN" and any(one.type == "PARTITION" for one in part):
                inside = True
            elif token.type == "END":
                inside = False
            elif token.type == "_SEMI" and not inside:
                yield part, end_of(token)
                part = []
                continue
        part.append(token)
    if part:
        yield part, end_of(part[-1])


def annotations_of(part: Sequence[Token]) -> tuple[list[Annotation], Sequence[Token]]:
    """The annotations in front, and the tokens behind them."""
    cursor = _Cursor(part)
    made = []
    while cursor.type() == "AT_SIGN" and cursor.at + 1 < len(part):
        made.append(_annotation(cursor))
    return made, part[cursor.at :]


def _annotation(cursor: _Cursor) -> Annotation:
    first = cursor.tokens[cursor.at]
    cursor.at += 1
    name = str(cursor.tokens[cursor.at])
    cursor.at += 1
    while cursor.type() in ("_COLON", "_DOT") and cursor.type(1):
        name += str(cursor.tokens[cursor.at]) + str(cursor.tokens[cursor.at + 1])
        cursor.at += 2
    elements: list[Element] = []
    nested: list[Annotation] = []
    if cursor.type() == "_LPAR":
        cursor.at += 1
        while cursor.type() not in ("_RPAR", ""):
            if cursor.type() == "AT_SIGN" and cursor.type(1):
                nested.append(_annotation(cursor))
            elif cursor.type() == "_COMMA":
                cursor.at += 1
            else:
                elements.append(_element(cursor))
        if cursor.type() == "_RPAR":
            cursor.at += 1
    end = end_of(cursor.tokens[cursor.at - 1])
    line = int(first.line or 1)
    return Annotation(name, tuple(elements), tuple(nested), start_of(first), end, line)


def _element(cursor: _Cursor) -> Element:
    held: list[Token] = []
    depth = 0
    while cursor.type():
        kind = cursor.type()
        if depth == 0 and kind in ("_COMMA", "_RPAR"):
            break
        depth += (kind in _OPENING) - (kind in _CLOSING)
        held.append(cursor.tokens[cursor.at])
        cursor.at += 1
    marks = [place for place, token in enumerate(held) if token.type == "_ASSIGN"]
    key_tokens = held[: marks[0]] if marks else []
    value_tokens = held[marks[0] + 1 :] if marks else held
    key = "".join(unquoted(str(token)) for token in key_tokens)
    value = "".join(unquoted(str(token)) for token in value_tokens)
    return Element(key, value, int(held[0].line or 1))
