"""Texts for people, without secrets."""

from __future__ import annotations

import html
import json
from urllib.parse import quote, quote_plus

import pytest

from lockstep.events import UnavailableError
from lockstep.secrets import Hidden
from lockstep.secrets.hidden import MIN_BEGINNING

ODD = """pa"ss\\wo<r>d/é &'+"""
TOKEN = "s3cr3t-TOKEN-0123456789"


@pytest.mark.parametrize(
    "written",
    [
        ODD,
        json.dumps({"got": ODD}),
        json.dumps({"got": ODD}, ensure_ascii=False),
        json.dumps({"got": ODD}).replace("/", "\\/"),
        json.dumps({"got": ODD})
        .replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("&", "\\u0026"),
        html.escape(ODD),
        html.escape(ODD, quote=False),
        html.escape(ODD).replace("&quot;", "&#34;").replace("&#x27;", "&#39;"),
        repr(ODD),
        repr(f"{ODD} and more"),
        f"http://h/{quote(ODD)}",
        f"http://h/{quote(ODD, safe='')}",
        f"http://h/{quote_plus(ODD)}",
        f"http://h/{quote_plus(ODD).lower()}",
    ],
)
def test_a_secret_is_hidden_however_it_is_written(written: str) -> None:
    """As JSON, pages, addresses and Python's messages do."""
    shown = Hidden([ODD]).text(f"it answered 500: {written}!")
    assert "***" in shown
    assert not any(part in shown for part in ("pa", "ss", "wo", "r>d", "r&gt", "rd"))


@pytest.mark.parametrize("behind", ["", "'", '" and more', "…", " (hint: look)"])
def test_the_beginning_of_a_secret_is_hidden_where_a_text_was_cut(behind: str) -> None:
    """Whatever stands there tells a cut; at most a few characters are left."""
    hidden = Hidden([TOKEN, ODD])
    for length in range(MIN_BEGINNING, len(TOKEN) + 1):
        assert hidden.text(f"got {TOKEN[:length]}{behind}") == f"got ***{behind}"
    escaped = json.dumps(ODD)[1:-1]
    assert hidden.text(f"got {escaped[:8]}{behind}") == f"got ***{behind}"


def test_what_only_begins_like_a_secret_stays() -> None:
    """Many addresses begin alike, and a few characters are no secret."""
    hidden = Hidden(["https://hooks.example/T1/B2", "abc"])
    for text in ("https://hooks.other/ answered 500", "ab", "it took https"):
        assert hidden.text(text) == text.replace("abc", "***")
    assert hidden.text("abcd") == "***d"


def test_a_secret_of_several_lines_is_hidden_in_one() -> None:
    """A key, for example, in an answer of which one line was made."""
    assert Hidden(["key one\n  two\n"]).text("got key one two?") == "got ***?"


def test_an_error_says_none() -> None:
    """Neither in its message, nor where it was, nor in its hint."""
    error = UnavailableError(f"to {TOKEN}", where=f"at {TOKEN}", hint=f"not {TOKEN}")
    Hidden([TOKEN]).error(error)
    assert str(error) == "at ***: to *** (hint: not ***)"
    assert error.args == ("to ***",)
