"""Texts as codes: the kernel gives what Arrow does."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from lockstep.columns import text_kernel, texts


def _is_as_arrow_has_it(given: pa.Array) -> None:
    codes, words = texts.numbered(given)
    encoded = given.dictionary_encode()
    assert words.texts == (encoded.dictionary.to_pylist() or [""])
    assert codes.tolist() == encoded.indices.fill_null(0).to_pylist()


_FEW = {
    "names": [f"SYM{n}" for n in range(100)],
    "one": ["a"],
    "empty ones": ["", "\0", "\0\0", "a"],
    "eight bytes": ["abcdefgh", "abcdefg", "bcdefgh", "\xff" * 4, "\0" * 8],
    "many, just so": [str(n) for n in range(1024)],
}
_OTHERS = {
    "long": ["abcdefgh", "abcdefghi"],
    "many": [str(n) for n in range(3000)],
    "empty alone": [""],
    "nulls": ["a", None, "b"],
}


@pytest.mark.parametrize("words", _FEW.values(), ids=_FEW.keys())
def test_texts_of_few_values_are_numbered_by_the_kernel(words: list[str]) -> None:
    """Names, empty texts, those of just eight bytes, and as many as there is room for."""
    random = Random(1)
    given = pa.array([*words, *(random.choice(words) for _ in range(2 * texts.MANY))], pa.string())
    assert texts._of_few_values(given) is not None
    _is_as_arrow_has_it(given)
    _is_as_arrow_has_it(given.slice(7))
    _is_as_arrow_has_it(given.slice(0, texts.MANY))


@pytest.mark.parametrize("words", _OTHERS.values(), ids=_OTHERS.keys())
def test_all_others_are_numbered_by_arrow(words: list[str]) -> None:
    """Long texts, too many values, nulls, and no letters at all."""
    given = pa.array([*words, *(words[n % len(words)] for n in range(texts.MANY))], pa.string())
    assert texts._of_few_values(given) is None
    _is_as_arrow_has_it(given)


@pytest.mark.parametrize("words", [*_FEW.values(), *_OTHERS.values(), [], [None], [None, "b"]])
def test_a_few_texts_are_numbered_as_many(words: list[str | None]) -> None:
    """By Python: the same codes and texts. There is a text where all are null, too."""
    _is_as_arrow_has_it(pa.array(words, pa.string()))


def test_texts_in_memory_that_nobody_may_change_are_numbered_by_the_kernel() -> None:
    """As those are that another process has written."""
    made = pa.array([f"SYM{n % 100}" for n in range(2 * texts.MANY)], pa.string())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([("s", pa.string())])) as writer:
        writer.write_batch(pa.record_batch([made], names=["s"]))
    with pa.ipc.open_stream(pa.py_buffer(sink.getvalue().to_pybytes())) as reader:
        given = reader.read_next_batch().column(0)
    assert not given.buffers()[2].is_mutable
    assert texts._of_few_values(given) is not None
    _is_as_arrow_has_it(given)
    compiled = len(text_kernel.encode.signatures)
    texts.numbered(made)
    assert len(text_kernel.encode.signatures) == compiled == 1


def test_the_table_has_room_for_all_values() -> None:
    """So a free slot ends every search."""
    assert texts._VALUES <= text_kernel.SLOTS // 2
