"""Texts in, syntax trees out, or a positioned SiddhiQLError; never another error, never a hang."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

from lark import Lark
from lark.exceptions import UnexpectedToken

from lockstep.siddhiql import ast
from lockstep.siddhiql.errors import SiddhiQLError
from lockstep.siddhiql.syntax.build_queries import Builder
from lockstep.siddhiql.syntax.complaints import complaint
from lockstep.siddhiql.syntax.depth import check_depth
from lockstep.siddhiql.syntax.habits import IMPORTED
from lockstep.siddhiql.syntax.lexer import SiddhiQLLexer

_GRAMMAR = Path(__file__).parent.parent / "grammar.lark"

_STARTS = {
    "app": "app",
    "siddhiapp": "app",
    "streamdefinition": "only_stream_definition",
    "tabledefinition": "only_table_definition",
    "windowdefinition": "only_window_definition",
    "triggerdefinition": "only_trigger_definition",
    "functiondefinition": "only_function_definition",
    "aggregationdefinition": "only_aggregation_definition",
    "query": "only_query",
    "partition": "only_partition",
    "ondemandquery": "only_on_demand",
    "storequery": "only_on_demand",
    "expression": "only_expression",
    "timeconstant": "only_time",
    "timeconstantdefinition": "only_time",
    "annotation": "only_annotation",
}
_BEGINNINGS = {
    "app": "an app begins with 'define stream …'",
    "only_query": "a query begins with 'from …'",
    "only_on_demand": "ask with 'from <table> …', write with 'select …', 'update …' or 'delete …'",
}
_ANY = "something has to stand here"
MAX_TEXT_CHARACTERS = 300_000
"""Longer texts are refused, so that parsing one takes less than a second."""

KINDS = tuple(_STARTS)
"""What `parse` can be asked for; letter case and '_', '-' or blanks in a kind do not count."""


@cache
def _parser() -> Lark:
    grammar = _GRAMMAR.read_text(encoding="utf-8")
    kept = _kept_in(grammar)
    if kept is None or kept.exists():
        return parser_of(grammar, kept)
    written = kept.with_suffix(f".{os.getpid()}")  # nobody reads half a file
    parser = parser_of(grammar, written)
    with contextlib.suppress(OSError):
        written.replace(kept)
    return parser


def parser_of(grammar: str, kept: Path | None) -> Lark:
    """With the tables of a former process where they are kept: they take half a second to work
    out, and lark checks that they are of this grammar and of this lark."""
    return Lark(
        grammar,
        parser="lalr",
        lexer=SiddhiQLLexer,
        start=sorted(set(_STARTS.values())),
        transformer=Builder(),
        maybe_placeholders=False,
        cache=False if kept is None else str(kept),
    )


def _kept_in(grammar: str) -> Path | None:
    """The file of the tables: among the compiled modules, whose owners are as much to be trusted,
    else below the user's home, else nowhere."""
    digest = hashlib.sha256(grammar.encode()).hexdigest()[:16]
    name = f"grammar-{digest}.{sys.implementation.cache_tag}.tables"
    user = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "lockstep"
    for folder in (Path(__file__).parent / "__pycache__", user):
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        if (folder / name).exists() or os.access(folder, os.W_OK):
            return folder / name
    return None


def parse(text: str, kind: str | None = None) -> Any:
    """The syntax tree of an app, or of one definition, query, partition, expression (KINDS)."""
    wanted = "app" if kind is None else "".join(c for c in kind.lower() if c.isalpha())
    if wanted not in _STARTS:
        raise ValueError(f"cannot parse a {kind!r}; known are {', '.join(KINDS)}")
    if len(text) > MAX_TEXT_CHARACTERS:
        raise SiddhiQLError(
            f"the text is longer than {MAX_TEXT_CHARACTERS} characters", hint="split the app"
        )
    if not text.strip():
        raise SiddhiQLError("the text is empty", hint=_BEGINNINGS.get(_STARTS[wanted], _ANY))
    if _STARTS[wanted] == "app":
        _refuse_other_files(text)
    try:
        tree = _parser().parse(text, start=_STARTS[wanted])
    except UnexpectedToken as refused:
        raise complaint(refused, text) from None
    check_depth(tree)
    return tree


def _refuse_other_files(text: str) -> None:
    """XML and JSON: what people have of the older products."""
    start = len(text) - len(text.lstrip())
    if text[start] in "<{":
        raise SiddhiQLError(
            f"no app begins with {text[start]!r}",
            line=text.count("\n", 0, start) + 1,
            column=start - text.rfind("\n", 0, start),
            hint=f"is it a file of WSO2 CEP? {IMPORTED}",
        )


def parse_app(text: str) -> ast.App:
    """The syntax tree of a whole app."""
    tree = parse(text)
    assert isinstance(tree, ast.App)
    return tree


def parse_on_demand(text: str) -> ast.OnDemandQuery:
    """The syntax tree of an on-demand query (grammar 12)."""
    tree = parse(text, "ondemandquery")
    assert isinstance(tree, ast.OnDemandQuery)
    return tree
