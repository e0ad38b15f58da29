"""The parser's tables, kept from one process to the next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lark.load_grammar import GrammarBuilder

from lockstep.siddhiql.syntax import parser
from lockstep.siddhiql.syntax.parser import parser_of

GRAMMAR = Path(parser.__file__).parent.parent.joinpath("grammar.lark").read_text("utf-8")
TEXT = "define stream S (a int);\nfrom S[a > 1]#window.length(2) select a insert into T;\n"


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The tables that a parser wrote, and what it made of the text. It takes half a second."""
    kept = tmp_path_factory.mktemp("kept") / "tables"
    return kept, parser_of(GRAMMAR, kept).parse(TEXT, start="app")


def test_kept_tables_parse_the_same_and_the_grammar_is_not_read_again(
    first: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one parser wrote is all that the next one needs."""
    kept, expected = first
    monkeypatch.delattr(GrammarBuilder, "build")
    assert parser_of(GRAMMAR, kept).parse(TEXT, start="app") == expected


def test_damaged_tables_are_made_again(first: tuple[Path, Any], tmp_path: Path) -> None:
    """A file that is cut short is no reason to fail."""
    whole, expected = first
    kept = tmp_path / "tables"
    half = whole.read_bytes()[:200_000]
    kept.write_bytes(half)
    assert parser_of(GRAMMAR, kept).parse(TEXT, start="app") == expected
    assert len(kept.read_bytes()) > len(half)
