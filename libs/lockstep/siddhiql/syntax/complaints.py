"""Turns lark's refusals into sentences for people: what was expected, what was found, a hint."""

from __future__ import annotations

import difflib

from lark import Token
from lark.exceptions import UnexpectedToken

from lockstep.siddhiql.errors import SiddhiQLError
from lockstep.siddhiql.syntax.habits import habit
from lockstep.siddhiql.syntax.keywords import KEYWORD_TERMINALS, KEYWORDS
from lockstep.siddhiql.syntax.lexer import SYMBOL_TEXT

_MOST_LISTED = 8

_PHRASES = {
    "STRING_LITERAL": "a string",
    "INT_LITERAL": "a number",
    "SCRIPT": "a body in { }",
    "$END": "the end of the text",
}
_UNITS = {"YEARS", "MONTHS", "WEEKS", "DAYS", "HOURS", "MINUTES", "SECONDS", "MILLISECONDS"}
_TYPES = {"STRING", "INT", "LONG", "FLOAT", "DOUBLE", "BOOL", "OBJECT"}
_BEGINNINGS = ("DEFINE", "FROM", "PARTITION", "AT_SIGN")
_NUMBERS = {"INT_LITERAL", "LONG_LITERAL", "FLOAT_LITERAL", "DOUBLE_LITERAL"}


def complaint(refused: UnexpectedToken, text: str) -> SiddhiQLError:
    """The error for a token of a text that the grammar does not take at its place."""
    token = refused.token
    accepted = set(refused.accepts or refused.expected)
    found = "the end of the text" if token.type == "$END" else f"{str(token)[:40]!r}"
    near = _near(token, accepted)
    expected = f"{near!r}" if near is not None else _expected(accepted)
    message = f"expected {expected}, found {found}" if expected else f"unexpected {found}"
    return SiddhiQLError(
        message,
        line=token.line or 1,
        column=token.column or 1,
        hint=habit(_previous(refused), token, accepted, text) or _hint(token, accepted),
    )


def _previous(refused: UnexpectedToken) -> object:
    """What the parser read last in front of the token: a token, or something built of several."""
    stack = refused.interactive_parser.parser_state.value_stack
    return stack[-1] if stack else None


def _expected(accepted: set[str]) -> str:
    phrases: list[str] = []
    rest = set(accepted)
    if accepted >= _NUMBERS:
        phrases.append("an expression")
        rest = {t for t in rest if t in ("STAR", "_RPAR")}
    elif accepted & {"ID", "QUOTED"}:
        phrases.append("a name")
        rest -= KEYWORD_TERMINALS | {"ID", "QUOTED"}
    if rest >= _TYPES:
        phrases.append("a type")
        rest -= _TYPES
    if len(rest & _UNITS) > 2:
        phrases.append("a unit of time")
        rest -= _UNITS
    phrases += sorted(map(_phrase, rest))
    if not phrases or len(phrases) > _MOST_LISTED:
        return _shortened(phrases)
    if len(phrases) == 1:
        return phrases[0]
    return f"{', '.join(phrases[:-1])} or {phrases[-1]}"


def _shortened(phrases: list[str]) -> str:
    """Of a long list the keywords, which say most."""
    words = [phrase for phrase in phrases if phrase[1:-1].isalpha() or " " in phrase]
    if not words:
        return ""
    return f"{', '.join(words[:_MOST_LISTED])} or the like"


def _phrase(terminal: str) -> str:
    if terminal in _PHRASES:
        return _PHRASES[terminal]
    return f"'{SYMBOL_TEXT.get(terminal, terminal.lower())}'"


def _near(token: Token, accepted: set[str]) -> str | None:
    """The keyword that was probably meant."""
    if token.type != "ID":
        return None
    words = [word for word, terminal in KEYWORDS.items() if terminal in accepted]
    return next(iter(difflib.get_close_matches(str(token).lower(), words, n=1, cutoff=0.6)), None)


def _hint(token: Token, accepted: set[str]) -> str:
    if token.type in _BEGINNINGS and "_SEMI" in accepted:
        return "a ';' is missing between two statements"
    if token.type in KEYWORD_TERMINALS and "QUOTED" in accepted:
        return f"{str(token)!r} is a keyword: write it in back-quotes to use it as a name"
    if token.type == "_ASSIGN" and "EQUAL" in accepted:
        return "equality is written '=='"
    if token.type == "MINUS" and accepted >= {"ID"}:
        return "there is no minus in front of a name: write 0 - x"
    if token.type in ("INT_LITERAL", "TRUE", "FALSE") and accepted == {"STRING_LITERAL"}:
        return "values of annotations are always in quotes"
    if token.type == "$END":
        return "the text ends too early"
    return f"something is missing or too much in front of {str(token)[:40]!r}"
