"""Cuts a text into the terminals of grammar.lark (grammar 1-3). Linear in the text's length."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NoReturn

from lark import Token as Token  # its users outside know no lark
from lark.lexer import Lexer

from lockstep.siddhiql.errors import SiddhiQLError
from lockstep.siddhiql.syntax.keywords import KEYWORDS

_DIGITS = r"(?:\d+\.\d*|\d+|\.\d+)"
_EXPONENT = r"[eE][-+]?\d+"

# A double needs digits behind its point, or an exponent, or a `d`: `5.` is none (grammar 3.2).
_TOKEN = re.compile(
    rf"""
    (?P<SKIP>[ \t\v\r\n]+ | --[^\n]* | /\*(?s:.*?)(?:\*/|\Z))
  | (?P<ID>[a-zA-Z_][a-zA-Z_0-9]*)
  | (?P<FLOAT_LITERAL>{_DIGITS}(?:{_EXPONENT})?[fF])
  | (?P<DOUBLE_LITERAL>{_DIGITS}{_EXPONENT}[dD]? | {_DIGITS}[dD] | \d*\.\d+)
  | (?P<LONG_LITERAL>\d+[lL])
  | (?P<INT_LITERAL>\d+)
  | (?P<STRING_LITERAL>\"\"\"(?s:.*?)\"\"\" | '[^'"\x00-\x1f]*' | "[^"\x00-\x1f]*")
  | (?P<QUOTED>`[^`]+`)
  | (?P<SYMBOL>\.\.\. | -> | == | != | <= | >= | [@#!+\-*/%?<>()\[\],;:.=])
  | (?P<SCRIPT>\{{)
    """,
    re.VERBOSE | re.ASCII,
)

_SYMBOLS = {
    "...": "_ELLIPSIS",
    "->": "_ARROW",
    "==": "EQUAL",
    "!=": "NOT_EQUAL",
    "<=": "LESS_EQUAL",
    ">=": "GREATER_EQUAL",
    "@": "AT_SIGN",
    "#": "HASH",
    "!": "BANG",
    "+": "PLUS",
    "-": "MINUS",
    "*": "STAR",
    "/": "SLASH",
    "%": "PERCENT",
    "?": "QUESTION",
    "<": "LESS",
    ">": "GREATER",
    "(": "_LPAR",
    ")": "_RPAR",
    "[": "_LSQB",
    "]": "_RSQB",
    ",": "_COMMA",
    ";": "_SEMI",
    ":": "_COLON",
    ".": "_DOT",
    "=": "_ASSIGN",
}
SYMBOL_TEXT = {terminal: text for text, terminal in _SYMBOLS.items()}
"""How each symbol's terminal is written."""

# In a script body braces in double quotes and in line comments do not count (grammar 6.5).
_SCRIPT_PART = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|[{}]')


class SiddhiQLLexer(Lexer):
    """The lexer that lark drives."""

    def __init__(self, lexer_conf: Any) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: Any = None) -> Iterator[Token]:
        """The tokens of a text in order; raises SiddhiQLError at what fits no token."""
        return tokens(lexer_state)


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a text in order; raises SiddhiQLError at what fits no token."""
    position, line, line_start = 0, 1, 0
    match = _TOKEN.match
    while position < len(text):
        found = match(text, position)
        if found is None:
            _refuse(text, position, line, position - line_start + 1)
        end = found.end()
        kind = found.lastgroup or ""
        if kind == "SCRIPT":
            end = _script_end(text, position, line, position - line_start + 1)
        value = text[position:end]
        if kind != "SKIP":
            if kind == "ID":
                kind = KEYWORDS.get(value.lower(), "ID")
            elif kind == "SYMBOL":
                kind = _SYMBOLS[value]
            column = position - line_start + 1
            yield Token(kind, value, position, line, column, end_pos=end)
        newlines = value.count("\n")
        if newlines:
            line += newlines
            line_start = position + value.rfind("\n") + 1
        position = end


def _script_end(text: str, start: int, line: int, column: int) -> int:
    depth = 0
    for part in _SCRIPT_PART.finditer(text, start):
        if part.group() == "{":
            depth += 1
        elif part.group() == "}":
            depth -= 1
            if depth == 0:
                return part.end()
    raise SiddhiQLError(
        "the body of this function is never closed", line=line, column=column, hint="add a '}'"
    )


def _refuse(text: str, position: int, line: int, column: int) -> NoReturn:
    """Says what is wrong with the character at the position."""
    character = text[position]
    rest = text[position + 1 : position + 400].split("\n", 1)[0]
    message = f"unexpected character {character!r}"
    hint = "only strings, comments and back-quoted names hold such characters"
    if character == "'":
        if "'" in rest and '"' in rest.split("'", 1)[0]:
            message = "a string in single quotes cannot contain a double quote"
            hint = 'write it between """ and """'
        else:
            message, hint = "this string is not closed on its line", "add a closing '"
    elif character == '"':
        message, hint = "this string is not closed on its line", 'use """ for several lines'
    elif character == "`":
        message, hint = "this back-quoted name is not closed", "add a closing `"
    elif character == "}":
        hint = "braces are used for function bodies only"
    elif character == "&":
        hint = "write 'and'"
    elif character == "|":
        hint = "write 'or' between conditions, and str:concat(a, b) to join texts"
    elif character in "‘’“”":
        hint = "use plain quotes: ' or \""
    elif character == "$":
        hint = "a ${variable} must be replaced before the text is parsed"
    raise SiddhiQLError(message, line=line, column=column, hint=hint)
