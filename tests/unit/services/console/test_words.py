"""Values as a test writes them down."""

from __future__ import annotations

from lockstep_services.console.words import word


def test_words_of_a_test_read_back() -> None:
    """Texts that are no plain words are quoted."""
    words = [word(one) for one in (None, True, 1.5, "attic", "two words", "it's", "null", "")]
    assert words == ["null", "true", "1.5", "attic", "'two words'", '"it\'s"', "'null'", "''"]
