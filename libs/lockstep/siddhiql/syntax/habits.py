"""Hints for what people write who know SQL, Java or an older reader of the language."""

from __future__ import annotations

from lark import Token

from lockstep.siddhiql.syntax.names import Name

_TYPES = {"STRING", "INT", "LONG", "FLOAT", "DOUBLE", "BOOL", "OBJECT"}
_QUERY = "a query reads: from S[filter] select … insert into O"

IMPORTED = "lockstep import FILE -o apps/ turns it into an app"
COMMENTS = "comments begin with -- or stand between /* and */"

_WORDS = {
    "where": "conditions stand in brackets: from S[v > 5], or behind having",
    "create": "definitions begin with define: define stream S (a int)",
    "primary": "write @PrimaryKey('a') in front of define table",
    "values": "send events instead, or run: select 'a' as k insert into T",
    "descending": "write desc",
    "ascending": "write asc",
    "between": "write: x >= a and x <= b",
    "like": "use regex:matches(pattern, text) or str:contains(text, part)",
    "union": "let two queries insert into one stream",
}
"""By a word that no grammar rule begins with."""

_BEHIND = {
    ("is", "not"): "write: not (x is null)",
    ("!", "("): "write: not ( … )",
    ("<", ">"): "write !=",
    ("/", "/"): COMMENTS,
    ("==", "="): "equality is written '=='",
    ("insert", "overwrite"): "write: update or insert into T on T.key == key",
}
"""By the word in front and the word itself."""

_AFTER_NAMES = {
    "distinct": "there is no distinct: group by the attributes",
    "case": "there is no case: use ifThenElse(condition, a, b)",
}
"""By the word in front, which was taken for a name."""

_CLAUSES = ("GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET")


def habit(previous: object, token: Token, accepted: set[str], text: str) -> str | None:
    """What to write instead, when a place of the text looks like a habit from elsewhere."""
    word = str(token).lower()
    start = token.start_pos or 0
    found = _sign(text[start : start + 2], accepted)
    if found is not None:
        return found
    if isinstance(previous, Name) and previous.text.lower() == "plan" and token.type == "_COLON":
        return f"this is an execution plan of WSO2 CEP: {IMPORTED}"
    if isinstance(previous, Token):
        found = _pair(previous, token, accepted)
        if found is not None:
            return found
    if "AT_SIGN" in accepted and token.type in ("SELECT", "INSERT", "UPDATE", "DELETE"):
        return _QUERY
    if token.type in _CLAUSES and "SELECT" in accepted:
        return f"{word!r} stands behind select: {_QUERY}"
    if token.type == "INTO" and "INSERT" in accepted:
        return "a query ends with: insert into Stream"
    if token.type == "OUTPUT" and accepted <= {"$END", "_SEMI"}:
        return "'output … every' stands in front of 'insert into'"
    if accepted >= _TYPES and "ID" not in accepted:
        return "the types are string, int, long, float, double, bool and object"
    return _WORDS.get(word)


def _sign(two: str, accepted: set[str]) -> str | None:
    """For the two characters that a refused token begins with, which may be of two tokens."""
    if two == "//":
        return COMMENTS
    if two == "=>":
        return "write -> between events" if "_ARROW" in accepted else "write >="
    return "write <=" if two == "=<" else None


def _pair(previous: Token, token: Token, accepted: set[str]) -> str | None:
    before, word = str(previous).lower(), str(token).lower()
    if token.type == "ID" and before in _AFTER_NAMES and "AS" in accepted:
        return _AFTER_NAMES[before]
    match previous.type, token.type:
        case "STAR", "_COMMA":
            return "'*' stands alone: name the attributes instead"
        case "MINUS", "ID" | "_LPAR":
            return "there is no minus in front of a name: write 0 - x"
        case "INT_LITERAL", "_DOT":
            return f"digits are needed behind the point: {before}.0"
        case "INT_LITERAL", "ID" if "SECONDS" in accepted:
            return "units of time are millisec, sec, min, hour, day, week, month and year"
        case "STRING_LITERAL", "STRING_LITERAL":
            return 'a text with quotes in it stands between """ and """'
    return _BEHIND.get((before, word))
