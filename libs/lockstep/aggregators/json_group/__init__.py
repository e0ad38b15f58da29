"""json:group and json:groupAsObject: the JSON elements that are present, as an array.

Every result is an array of its own: what holds it keeps what it had.
"""

from __future__ import annotations

from typing import Any

from lockstep.functions import json_documents
from lockstep.operators.contract import PlainState
from lockstep.operators.errors import EventError
from lockstep.operators.limits import check_group
from lockstep.siddhiql.catalogue import Parameter
from lockstep.siddhiql.catalogue.aggregators import AggregatorExtension
from lockstep.siddhiql.catalogue.signatures import BOOL, OBJECT, STRING, aggregator, gives


class JsonGroup:
    """The JSON elements that are present, equal ones together, as text or as object."""

    __slots__ = ("_as_object", "_counts", "_distinct", "_elements", "_enclosing")

    def __init__(self, as_object: bool) -> None:
        self._as_object = as_object
        self._elements: dict[str, Any] = {}
        self._counts: dict[str, int] = {}
        self._enclosing: str | None = None
        self._distinct = False

    def add(self, json: Any, *options: Any) -> None:
        self._take_options(options)
        element = _element(json)
        key = json_documents.text(element)
        self._elements.setdefault(key, element)
        self._counts[key] = self._counts.get(key, 0) + 1
        check_group(len(self._counts), "json:group")

    def remove(self, json: Any, *options: Any) -> None:
        self._take_options(options)
        key = json_documents.text(_element(json))
        left = self._counts.get(key, 0) - 1
        if left > 0:
            self._counts[key] = left
        else:
            self._counts.pop(key, None)
            self._elements.pop(key, None)

    def _take_options(self, options: tuple[Any, ...]) -> None:
        for option in options:
            if isinstance(option, bool):
                self._distinct = option
            elif option is not None:
                self._enclosing = str(option)

    def reset(self) -> None:
        self._elements.clear()
        self._counts.clear()

    def value(self) -> Any:
        array = [
            element
            for key, element in self._elements.items()
            for _ in range(1 if self._distinct else self._counts[key])
        ]
        whole = array if self._enclosing is None else {self._enclosing: array}
        return whole if self._as_object else json_documents.text(whole)

    def is_empty(self) -> bool:
        return not self._elements

    def snapshot(self) -> PlainState:
        counted = [(key, count) for key, count in self._counts.items()]
        return (counted, self._enclosing, self._distinct)

    def restore(self, state: PlainState) -> None:
        counted, self._enclosing, self._distinct = state
        self._counts = dict(counted)
        self._elements = {key: json_documents.parse(key) for key, _ in counted}


def _element(json: Any) -> Any:
    if json is None:
        return None
    element = json_documents.parse_lenient(json) if isinstance(json, str) else json
    if not isinstance(element, dict):
        raise EventError("json:group wants JSON objects")
    return element


_JSON = Parameter("json", (STRING, OBJECT))
_DISTINCT = Parameter("distinct", (BOOL,))
_ENCLOSING = Parameter("enclosing.element", (STRING,))


def _declared(name: str, *, as_object: bool) -> AggregatorExtension:
    result = OBJECT if as_object else STRING
    return aggregator(
        name,
        gives(result, _JSON),
        gives(result, _JSON, _DISTINCT),
        gives(result, _JSON, _ENCLOSING),
        gives(result, _JSON, _ENCLOSING, _DISTINCT),
        namespace="json",
        doc="the elements as an array",
        make=lambda arguments: JsonGroup(as_object),
    )


EXTENSIONS = (_declared("group", as_object=False), _declared("groupAsObject", as_object=True))
