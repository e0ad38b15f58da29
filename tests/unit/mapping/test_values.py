"""Short ways to a value lead where the long ones lead."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.events import AttributeType, LockstepError
from lockstep.functions.convert import object_text
from lockstep.functions.json_path import compile_path
from lockstep.mapping.contract import MappingError
from lockstep.mapping.values import exact, from_text, lenient

TYPES = [one for one in AttributeType if one is not AttributeType.OBJECT]
VALUES = st.one_of(
    st.booleans(),
    st.integers(),
    st.integers(-(2**31) - 2, 2**31 + 2),
    st.floats(),
    st.floats(width=32),
    st.text(max_size=8),
    st.from_regex(r"-?[0-9]{1,12}(\.[0-9]{1,4})?", fullmatch=True),
)
DOCUMENTS = st.recursive(
    st.none() | st.integers(0, 9) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=8,
)
PATHS = ("$", "$.a", "$.a.b", "$['b'].a", "$[0]", "$.a[1]", "$[-1].b", "$.a[-2]", "a.a", "$.b[9]")


def found(read: Any, *arguments: Any) -> tuple[str, Any]:
    """A value, comparable also where it is no number, or what was wrong."""
    try:
        value = read(*arguments)
    except LockstepError as error:
        return type(error).__name__, error.message
    if isinstance(value, float):
        kept = "nan" if math.isnan(value) else (value, math.copysign(1, value))
        return "float", kept
    return type(value).__name__, value


@given(VALUES, st.sampled_from(TYPES))
def test_a_value_is_what_its_text_is(value: Any, wanted: AttributeType) -> None:
    """Numbers and booleans are taken as they are where that makes no difference."""
    assert found(lenient, value, wanted) == found(from_text, object_text(value), wanted)


def test_what_does_not_fit_is_told() -> None:
    """A boolean is no number, and a number beyond its type is none."""
    for value, wanted in ((True, AttributeType.INT), (2**31, AttributeType.INT)):
        with pytest.raises(MappingError, match="is no int"):
            lenient(value, wanted)
    assert lenient(2**31, AttributeType.LONG) == 2**31
    assert lenient(0.1, AttributeType.FLOAT) == pytest.approx(0.1)
    assert lenient(0.1, AttributeType.FLOAT) != 0.1


@given(DOCUMENTS, st.sampled_from(PATHS))
def test_a_definite_path_is_read_where_it_leads(document: Any, text: str) -> None:
    """What is read stands where a change would be made."""
    path = compile_path(text)

    def there(document: Any) -> Any:
        references = path.references(document)
        return references[-1][0][references[-1][1]] if references else document

    assert found(path.read, document) == found(there, document)


@pytest.mark.parametrize("convert", [exact, lenient])
@pytest.mark.parametrize("depth", [1, 450, 20_000])
def test_what_is_nested_is_named(convert: Any, depth: int) -> None:
    """It is not written out, however deep it is."""
    array: Any = []
    for _ in range(depth):
        array = [array]
    with pytest.raises(MappingError, match=r"^an array is no int$"):
        convert(array, AttributeType.INT)
    with pytest.raises(MappingError, match=r"^an object is no double$"):
        convert({"a": array}, AttributeType.DOUBLE)
