"""Java's regular expressions in Python."""

from __future__ import annotations

import re

import pytest

from lockstep.functions.java_regex import RegexError, compile_pattern, replace, split
from lockstep.functions.linear_regex import FEW_STEPS, STEPS_MAX
from lockstep.functions.regex_trees import costs, parsed
from lockstep.operators.limits import LimitError


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        (r"\p{Alpha}+", "abcXYZ", True),
        (r"\p{Lu}\p{L}*", "Éa", True),
        (r"\P{Digit}+", "a1", False),
        (r"[a-z&&[^bc]]+", "ad", True),
        (r"[a-z&&[^bc]]+", "ab", False),
        (r"[a-c[x-z]]+", "ax", True),
        (r"[^a[b]]", "b", False),
        (r"[]a]+", "]a", True),
        (r"\Qa.b\E", "a.b", True),
        (r"\Qa.b\E", "axb", False),
        (r"(?<year>\d+)-\k<year>", "12-12", True),
        (r"a(?i)b(?-i)c", "aBc", True),
        (r"a(?i)b(?-i)c", "aBC", False),
        (r"a(?:(?i)b)c", "aBC", False),
        (r"a.b", "a\rb", False),
        (r"(?s)a.b", "a\nb", True),
        (r"(?:(?s)a.)b.c", "a\nb\nc", False),
        (r"\w+", "é", False),
        (r"\h\R", "\t\r\n", True),
        (r"\x{1F600}", "😀", True),
        (r"\0101\cA", "A\x01", True),
        (r"a++b", "aab", True),
        (r"(?>a+)ab", "aaab", False),
        (r"abc\Z", "abc", True),
    ],
)
def test_the_whole_text_matches(pattern: str, text: str, matches: bool) -> None:
    """Constructs that Python writes otherwise, or has not."""
    assert (compile_pattern(pattern).fullmatch(text) is not None) is matches


@pytest.mark.parametrize(
    "pattern", ["(", "[a", r"\p{Nope}", r"(?<=a+)b", r"\i", "*a", r"\k<x>", r"\Ga"]
)
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    """With an error of the event, not of the program."""
    with pytest.raises(RegexError):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "text", "replacement", "expected"),
    [
        ("(a)(b)?", "ac", "<$2$1>", "<a>c"),
        ("(?<n>x)", "axb", "[${n}]", "a[x]b"),
        ("(a)", "a", "$10", "a0"),
        ("x", "y", "$9", "y"),
        ("x*", "ab", "-", "-a-b-"),
    ],
)
def test_replacements(pattern: str, text: str, replacement: str, expected: str) -> None:
    """`$1` and `${name}`, as many digits as name a group, errors only where something matches."""
    assert replace(pattern, text, replacement) == expected


@pytest.mark.parametrize("replacement", ["$", "$x", "${no}", "a\\"])
def test_broken_replacements(replacement: str) -> None:
    """A reference that leads nowhere is refused."""
    with pytest.raises(RegexError):
        replace("(a)", "a", replacement)


@pytest.mark.parametrize(
    ("pattern", "text", "pieces"),
    [
        (",", "b,c,b,,d", ["b", "c", "b", "", "d"]),
        (",", "a,b,,", ["a", "b"]),
        (",", ",a", ["", "a"]),
        (",", "", [""]),
        (",", ",,", []),
        ("", "abc", ["a", "b", "c"]),
        ("x", "abc", ["abc"]),
    ],
)
def test_split(pattern: str, text: str, pieces: list[str]) -> None:
    """Empty pieces at the end are dropped."""
    assert split(pattern, text) == pieces


@pytest.mark.parametrize("pattern", ["(a?){40}b", "(a?){40,50}b", "((a?){7}){7}b", "(a?){40,}b"])
def test_what_may_be_empty_is_repeated_as_often_as_it_must(pattern: str) -> None:
    """However short the text is: Python's engine would try for seconds on six characters."""
    assert costs(parsed(pattern, re.ASCII), 8).steps > FEW_STEPS
    assert not compile_pattern(pattern).finds("aaaaaa")
    with pytest.raises(LimitError, match="could take more than"):
        compile_pattern(pattern).search("aaaaaa")


LONG = 100_000

_ENDS = ["", "\n", "\r\n", "\r", "\x85", "\u2028", "\u2029"]


@pytest.mark.parametrize("before", ["", "x" * LONG], ids=["short", "long"])
@pytest.mark.parametrize("end", _ENDS, ids=ascii)
@pytest.mark.parametrize(
    "pattern", ["error$", r"error\Z", "(er+or$|warn)", "error(?:s|$)", ".*error$"]
)
def test_the_end_of_the_last_line(pattern: str, end: str, before: str) -> None:
    """`$` and `\\Z` match in front of each of Java's line ends, which is no part of the match; on a
    long text, too, which another engine reads."""
    text = before + "error"
    compiled = compile_pattern(pattern)
    assert compiled.finds(text + end)
    assert compiled.fits(text + end) is (not end and (not before or pattern.startswith(".")))
    found = compiled.search(text + end)
    assert found[0] == (text if pattern.startswith(".") else "error")
    assert found.span() == (len(text) - len(found[0]), len(text))
    assert not compiled.finds(text + end + "x")


@pytest.mark.parametrize("before", ["", "x" * LONG], ids=["short", "long"])
@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("$", "b\r\n", "b<>\r\n<>"),
        ("b$", "b\r\n\r\n", "b\r\n\r\n"),
        ("$", "b\r\n\r\n", "b\r\n<>\r\n<>"),
        ("$", "b\n\r", "b\n<>\r<>"),
        (r"b\s*$", "b\r\n", "<b\r\n>"),
        (r"b\s*?$", "b\r\n", "<b>\r\n"),
        ("(?<n>b$)", "b\u2028", "<b>\u2028"),
        ("(?:(b)$)?\\z", "b\r", "b\r<>"),
        ("(?d)b$", "b\r\n", "b\r\n"),
        ("(?d)b.$", "b\r\n", "<b\r>\n"),
        ("(?d)b(?-d)$", "b\r\n", "<b>\r\n"),
    ],
)
def test_what_matches_before_the_last_line_end(
    pattern: str, text: str, expected: str, before: str
) -> None:
    """As Java 17 replaces; never between `\\r` and `\\n`; with `(?d)` the line end is `\\n`."""
    assert replace(pattern, before + text, "<$0>") == before + expected


def test_a_long_text_with_a_line_end_is_read_once() -> None:
    """Python's engine would take more steps than it may."""
    assert costs(parsed("a.*b$", re.ASCII), LONG).steps * LONG > STEPS_MAX
    assert not compile_pattern("a.*b$").finds("a" * LONG + "\r\n")
    assert compile_pattern("a.*b$").searches(["a" * LONG + "b\n"])[0].span() == (0, LONG + 1)


def test_groups_by_name_in_a_long_text() -> None:
    """The other engine does not know the names."""
    assert replace("(?<n>b)$", "x" * LONG + "b", "[${n}]") == "x" * LONG + "[b]"


def test_split_at_the_last_line_end() -> None:
    """The line end is a piece of its own."""
    assert split("$", "a\r\n") == ["a", "\r\n"]
