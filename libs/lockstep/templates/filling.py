"""Putting values into the text of a template. Pure.

`${name}` is a whole value, or stands within a text (`'rooms.${room}'`). The text is cut into
SiddhiQL's own tokens first, so that a value takes the place of one token or stays within one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from lockstep.secrets.references import BEGINNING
from lockstep.siddhiql import CheckedApp, check
from lockstep.siddhiql.suggestions import did_you_mean
from lockstep.siddhiql.syntax.lexer import Token, tokens
from lockstep.templates.errors import TemplateError
from lockstep.templates.header import APP, Template
from lockstep.templates.values import Kind, Value, literal, within

_PLACE: Final = re.compile(r"\$\{([^{}\n]*)\}")
_APP_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}", re.ASCII)
EXAMPLE_APP: Final = "Example"
_NAMED: Final = "@app:name('${app}')"


def filled(template: Template, app: str, values: Mapping[str, Value]) -> str:
    """The text of the instance of that name; TemplateError, whose fault is the giver's."""
    if not _APP_NAME.fullmatch(app):
        raise TemplateError(
            f"{app!r} is no name for an app", hint="letters, digits, _ . -, a letter first"
        )
    known = [one.name for one in template.parameters]
    for name in values:
        if name not in known:
            raise TemplateError(
                f"there is no parameter '{name}'", where=f"template '{template.name}'",
                hint=did_you_mean(name, known),
            )  # fmt: skip
    found: dict[str, tuple[Kind, Value]] = {APP: (Kind.STRING, app)}
    for one in template.parameters:
        found[one.name] = one.kind, one.value(values.get(one.name))
    marked = _Marked(template.text)
    text = _put(marked, found)
    _refuse_other_names(template, marked)
    return text


def check_template(template: Template) -> CheckedApp:
    """The app that a template makes of examples, which has to be valid and to bear the instance's
    name; TemplateError, SiddhiQLError."""
    examples = {one.name: one.example for one in template.parameters}
    app = check(filled(template, EXAMPLE_APP, examples))
    if app.name != EXAMPLE_APP:
        raise TemplateError(
            "all instances would be one app", where=f"template '{template.name}'", hint=_NAMED
        )
    return app


class _Marked:
    """A text with a name of SiddhiQL's in the place of each parameter."""

    def __init__(self, text: str) -> None:
        number = 0
        while (mark := f"p{number}_of_template_") in text:
            number += 1
        self.original = text
        self._names: list[str] = []
        self._mark = mark
        self._place = re.compile(rf"{mark}(\d+)_")
        self.text = _PLACE.sub(self._marked, text)

    def _marked(self, found: re.Match[str]) -> str:
        if found[0].startswith(BEGINNING):
            return found[0]
        self._names.append(found[1].strip())
        return f"{self._mark}{len(self._names) - 1}_"

    def names(self, part: str) -> list[str]:
        """Of the parameters in a part of it."""
        return [self._names[int(one[1])] for one in self._place.finditer(part)]

    def whole(self, part: str) -> str | None:
        """The parameter that a part is, if it is nothing else."""
        found = self._place.fullmatch(part)
        return None if found is None else self._names[int(found[1])]

    def put(self, part: str, instead: Callable[[str], str]) -> str:
        """A part with something else in the places of parameters."""
        return self._place.sub(lambda found: instead(self._names[int(found[1])]), part)


def _refuse_other_names(template: Template, marked: _Marked) -> None:
    """TemplateError where a value has a say in the app's name: whoever gives values may operate the
    app of that name, and no other."""
    for token in _of_app_name(tokens(marked.text)):
        names = marked.names(token)
        if names and (names != [APP] or marked.whole(_inside(token)) is None):
            raise TemplateError(
                "the app's name is more than the name of the instance",
                where=f"template '{template.name}', line {token.line}", hint=_NAMED,
            )  # fmt: skip


def _of_app_name(found: Iterable[Token]) -> Iterator[Token]:
    """The tokens between the brackets of @app:name."""
    before: tuple[str, ...] = ()
    is_within = False
    for token in found:
        before = (*before[-4:], token.strip("`").lower())
        if is_within and token != ")":
            yield token
        is_within = token != ")" if is_within else before == ("@", "app", ":", "name", "(")


def _inside(token: Token) -> str:
    """What is between the quotes of a text."""
    if token.type != "STRING_LITERAL":
        return token
    length = len(_quote(token))
    return token[length:-length]


def _quote(token: Token) -> str:
    return '"""' if token.startswith('"""') else token[0]


def _put(marked: _Marked, values: Mapping[str, tuple[Kind, Value]]) -> str:
    out, at, filled_in = list[str](), 0, 0

    def skipped(end: int | None) -> str:
        """Comments stay as they are."""
        return marked.put(marked.text[at:end], lambda name: f"${{{name}}}")

    for token in tokens(marked.text):
        names = marked.names(token)
        if not names:
            continue
        unknown = next((name for name in names if name not in values), None)
        if unknown is not None:
            raise TemplateError(
                f"there is no parameter '{unknown}'", where=f"line {token.line}",
                hint=did_you_mean(unknown, values),
            )  # fmt: skip
        start = token.start_pos or 0
        out += [skipped(start), _instead(token, marked, values)]
        at, filled_in = start + len(token), filled_in + len(names)
    result = "".join([*out, skipped(None)])
    due = {one: marked.original.count(one) for one in ("${", "{{")}
    due["${"] -= filled_in
    for one in due:
        if result.count(one) != due[one]:
            raise TemplateError(
                f"values that stand side by side make {one!r}", hint="put a sign between them"
            )
    return result


def _instead(token: Token, marked: _Marked, values: Mapping[str, tuple[Kind, Value]]) -> str:
    where = f"line {token.line}"
    if token.type == "STRING_LITERAL":
        quote = _quote(token)
        return marked.put(token, lambda name: _within(name, values[name][1], quote))
    name = marked.whole(token)
    if name is None or token.type != "ID":
        raise TemplateError(
            "a parameter stands for a whole value, or within a text", where=where,
            hint="${name} or 'text ${name}'; not in a name, a number or a function's body",
        )  # fmt: skip
    return literal(*values[name])


def _within(name: str, value: Value, quote: str) -> str:
    text = within(value, quote)
    if text is None:
        raise TemplateError(
            "has a quotation mark in it, which cannot stand there", where=f"parameter '{name}'"
        )
    return text
