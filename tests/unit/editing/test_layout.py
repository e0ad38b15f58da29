"""Format comes to rest, leaves comments at what they tell of, and keeps the ends of lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.editing import formatted
from lockstep.editing.pieces import pieces, solid

PARTITION = """define stream S (k string, v int);
partition with (k of S)
begin
  /* The first rule.
       It copies.

     Always. */
    from S select k, v insert into Out;
end;
"""
PARTS = [
    "define stream S (k string, v int)", "from S select k,\n v insert into Out", "end", "from S",
    "partition with (k of S)\nbegin", "@info(name = 'q')", "select '''a", "{ return 1; }", ",", ";",
    "-- one", "-- two  ", "/* short */", "/* long\n     comment\n*/",
    "\"\"\"text\n  text\"\"\"", "(", "]",
]  # fmt: skip
GAPS = [
    " ", "\n", "  \n", "\n\n", " \n \n\n", "\t", "\r\n", "\r\n\r\n", " \r\n", "\r", "\r\r\n", "",
]  # fmt: skip
TEXTS = st.lists(st.tuples(st.sampled_from(PARTS), st.sampled_from(GAPS)), max_size=12).map(
    lambda parts: "".join(part + gap for part, gap in parts)
)


def comments(text: str) -> list[str]:
    """All of them, whatever blanks their lines begin with."""
    found = [one.value for one in pieces(text) if one.kind == "comment"]
    return ["\n".join(line.strip() for line in each.split("\n")) for each in found]


@given(TEXTS | TEXTS.map(lambda text: text.replace("\r", "").replace("\n", "\r\n")))
def test_twice_is_as_once(text: str) -> None:
    """Whatever the text is; and no comment is lost."""
    once = formatted(text)
    assert formatted(once) == once
    assert comments(once) == comments(text)


@given(
    st.lists(st.tuples(st.sampled_from(PARTS), st.sampled_from(["\r\r", *GAPS[:-1]])))
    | st.just([(word, "\r") for word in PARTITION.split()])
)
def test_no_words_are_joined(parts: list[tuple[str, str]]) -> None:
    """Also where a lone carriage return stands between them, in a text that ends its lines in both
    ways."""
    for end in ("\r\n\n", "\r"):
        text = "".join(part + gap for part, gap in [("define", "\r"), *parts, (";", end)])
        once = formatted(text)
        before, after = ([one.value for one in solid(pieces(each))] for each in (text, once))
        assert [one.split() for one in after] == [one.split() for one in before]
    mixed = "define\rstream S (a int);\r\nfrom S select a insert into O;\n"
    assert formatted(mixed) == "define stream S (a int);\nfrom S select a insert into O;\n"


def test_the_lines_of_a_comment_move_together() -> None:
    """As far as its first one does."""
    once = formatted(PARTITION)
    assert once == PARTITION.replace(
        "  /* The first rule.\n       It copies.\n\n     Always. */",
        "    /* The first rule.\n         It copies.\n\n       Always. */",
    )
    assert formatted(once) == once
    assert formatted("  /* a\n b */\ndefine stream S (k string);") == (
        "/* a\nb */\ndefine stream S (k string);\n"
    )


@pytest.mark.parametrize("end", ["\n", " \n", "\t\n", "\r\n", " \r\n"])
def test_a_comment_stays_at_its_statement(end: str) -> None:
    """Whatever stands at the end of the line before; blank lines stay, too."""
    text = f"define stream S (k string);{end}-- About O.{end}define stream O (k string);{end}{end}"
    text += f"-- Why.{end}from S select k insert into O;  -- Yes.{end}"
    ends = "\r\n" if "\r" in end else "\n"
    wanted = "define stream S (k string);\n-- About O.\ndefine stream O (k string);\n\n"
    wanted += "-- Why.\nfrom S select k insert into O;  -- Yes.\n"
    assert formatted(text) == wanted.replace("\n", ends)


def test_strings_keep_their_line_ends() -> None:
    """In a text that has both kinds, too."""
    for text in ('@a("""x\r\ny""")\n\ndefine stream S (k string);\n', '@a("""x\r\ny""")\r\n'):
        assert '"""x\r\ny"""' in formatted(text)
    assert formatted("@a('x')  \n-- y\r\ndefine stream S (k int);") == (
        "@a('x')\n    -- y\ndefine stream S (k int);\n"
    )
