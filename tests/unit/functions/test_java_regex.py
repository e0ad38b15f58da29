"""Java's regular expressions in Python."""

from __future__ import annotations

import re

import pytest

from lockstep.functions.java_regex import RegexError, compile_pattern, replace, split
from lockstep.functions.linear_regex import FEW_STEPS
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


@pytest.mark.parametrize("pattern", ["(", "[a", r"\p{Nope}", r"(?<=a+)b", r"\i", "*a", r"\k<x>"])
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
