"""Texts for people, without the secrets that may stand in them."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote, quote_plus

from lockstep.events import LockstepError

MIN_BEGINNING: Final = 6
"""Characters. So many of a secret are hidden, too, where a text was cut."""

_BEHIND_A_CUT: Final = ("'", '"', "…", " (hint: ")
"""What follows where a text was cut, if not the end of all."""


class Hidden:
    """Texts for people without the secrets in them: a server's answer may repeat an address."""

    def __init__(self, values: Iterable[str]) -> None:
        forms = {form for value in values for form in _forms(value)} - {""}
        # The longest first: one may be a part of another.
        self._forms = sorted(forms, key=len, reverse=True)

    def text(self, text: str) -> str:
        """With `***` in the place of each, and of its beginning where the text was cut."""
        for form in self._forms:
            text = text.replace(form, "***")
        for form in self._forms:
            text = _without_beginning(text, form)
        return text

    def error(self, error: LockstepError) -> None:
        """Takes them out of what an error says."""
        error.message = self.text(error.message)
        error.where = None if error.where is None else self.text(error.where)
        error.hint = None if error.hint is None else self.text(error.hint)
        error.args = (error.message, *error.args[1:])


def _forms(value: str) -> Iterator[str]:
    """As it is, and as addresses, JSON, pages and Python's messages write it."""
    yield value
    yield " ".join(value.split())  # answers are told in one line
    for address in (quote(value), quote(value, safe=""), quote_plus(value)):
        yield address
        yield re.sub("%..", lambda found: found[0].lower(), address)
    for text in (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]):
        yield text
        yield text.replace("/", "\\/")
        for code in ("\\u{:04x}", "\\u{:04X}"):
            yield text.translate({ord(one): code.format(ord(one)) for one in "<>&"})
    yield html.escape(value, quote=False)
    yield html.escape(value)
    yield html.escape(value).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")
    yield repr(value)[1:-1]
    yield repr(f"\"{value}'")[2:-3]  # beside quotes of the other kind


def _without_beginning(text: str, form: str) -> str:
    """Without as much of the form's beginning as stands where the text was cut."""
    beginning = form[:MIN_BEGINNING]
    if len(beginning) < MIN_BEGINNING:
        return text
    at = text.find(beginning)
    while at >= 0:
        end = at + MIN_BEGINNING
        while text[end : end + 1] == form[end - at : end - at + 1] != "":
            end += 1
        if end == len(text) or text.startswith(_BEHIND_A_CUT, end):
            text = f"{text[:at]}***{text[end:]}"
        at = text.find(beginning, at + 1)
    return text
