"""References to secrets in texts."""

from __future__ import annotations

import pytest

from lockstep.events import UnavailableError
from lockstep.secrets import Hidden, filled, names_in, problem_in


def test_a_value_stands_where_its_reference_stood() -> None:
    """And is not read again, whatever it looks like."""
    text = "Bearer ${secret:Orders.token}; ${secret:b}$"
    assert names_in(text) == ("Orders.token", "b")
    values = {"Orders.token": "${secret:b}\\1", "b": "x"}
    assert filled(text, values.__getitem__) == "Bearer ${secret:b}\\1; x$"


@pytest.mark.parametrize(
    "text",
    [
        "${secret:}",
        "${secret:a b}",
        "${secret:../etc}",
        "${secret:.a}",
        "${secret:a",
        "${secret:a/b}",
        "${secret:" + "a" * 129 + "}",
        "${secret:a} ${secret:é}",
    ],
)
def test_what_is_no_reference_is_told(text: str) -> None:
    """A name is a file's name, too: it leads nowhere else."""
    assert "${secret:name}" in (problem_in(text) or "")


def test_other_variables_are_none_of_its_business() -> None:
    """Nor is a text without any."""
    assert problem_in("${name} {{a}} ${secret:a} " + "${secret:" + "a" * 128 + "}") is None


def test_errors_are_told_without_secrets() -> None:
    """The longer one first, and as an address writes it."""
    hidden = Hidden(["to/k&en", "to/k&en-2", ""])
    error = UnavailableError("GET http://h/to%2Fk%26en said to/k&en-2", where="to/k&en", hint="x")
    hidden.error(error)
    assert str(error) == "***: GET http://h/*** said *** (hint: x)"
    assert "en" not in "".join(error.args)
