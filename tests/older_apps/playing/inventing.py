"""Events for an app that nobody has seen: drawn from its definitions and the constants in its text.

A value is likelier to pass a filter when it is one of those that the text compares with, or is next
to one; and joins and patterns find their partners when there are few values to choose from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from lockstep.events import AttributeType, StreamSchema
from lockstep.siddhiql import CheckedApp, ast
from lockstep.siddhiql.trees import below

NOW_MS: Final = 1_500_000_000_000
"""Of long attributes that are named for a time."""
WORDS: Final = ("alpha", "beta")
NUMBERS: Final = (1, 2, 5, 10, 40, 100, 500, 2_000)
KEYS: Final = (1, 2)
JSON_VALUES: Final[Mapping[str, Any]] = {
    "getInt": 7, "getLong": 7, "getDouble": 7.5, "getFloat": 7.5, "getBool": True,
    "getObject": {"a": 1}, "isExists": 7,
}  # fmt: skip
_WHOLE: Final = (AttributeType.INT, AttributeType.LONG)
_NUMBERS: Final = (*_WHOLE, AttributeType.FLOAT, AttributeType.DOUBLE)
_TIMES: Final = ("time", "timestamp", "date")
_KEYS: Final = ("id", "no", "number", "key", "code")
_ADDRESS: Final = ("ip", "address", "host")
_DATES: Final = {
    "yyyy-MM-dd HH:mm:ss": "2017-07-14 02:40:0{}",
    "yyyy-MM-dd HH:mm:ss.SSS": "2017-07-14 02:40:0{}.000",
    "yyyy-MM-dd": "2017-07-1{}",
    "yyyy/MM/dd": "2017/07/1{}",
    "MM/dd/yyyy": "07/1{}/2017",
}


HL7: Final = (
    "MSH|^~\\&|LAB|HOSPITAL|WARD|HOSPITAL|20170714024000||ORU^R01|{0}|P|2.3\r"
    "PID|1||{0}||DOE^JANE||19700101|F"
)


HEADER: Final[Mapping[str, str]] = {
    "MSH1": "|", "MSH2": "^~\\&amp;", "MSH7": "20170714024000", "MSH8": "", "CM_MSG1": "ADT",
    "CM_MSG2": "A01", "MSH10": "{}", "MSH11": "P", "MSH12": "2.3",
}  # fmt: skip
"""Attributes that samples name for the fields of HL7's header."""


@dataclass(frozen=True, slots=True)
class Step:
    """One event of a stream; before it `pause_ms` pass. `write`: a row of a table instead, by an
    on-demand query."""

    stream: str
    row: tuple[Any, ...]
    pause_ms: int = 0
    write: str = ""


@dataclass(slots=True)
class Constants:
    """What the text compares an attribute with, and all its other numbers."""

    by_attribute: dict[str, list[Any]] = field(default_factory=dict)
    dates: list[str] = field(default_factory=list)
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of attributes that are read as JSON."""
    most: int = 0
    """The largest whole number that a window may count to."""

    @classmethod
    def of(cls, checked: CheckedApp) -> Constants:
        """Of an app's text."""
        found = cls()
        for node in below((checked.app.definitions, checked.app.execution)):
            if isinstance(node, ast.Compare):
                found._pair(node.left, node.right)
                found._pair(node.right, node.left)
            elif isinstance(node, ast.FunctionCall):
                found._called(node)
            elif isinstance(node, ast.OutputRate) and node.every_events:
                found.most = max(found.most, node.every_events)
            elif isinstance(node, ast.CountState):
                found.most = max(found.most, node.min)
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.dates += [_DATES[node.value]] if node.value in _DATES else []
        return found

    def _pair(self, one: ast.Expression, other: ast.Expression) -> None:
        """The constants of one side belong to the attributes of the other."""
        names = [each.name for each in below(one) if isinstance(each, ast.Variable)]
        values = [each.value for each in below(other) if isinstance(each, ast.Constant)]
        for name in names:
            self.by_attribute.setdefault(name, []).extend(values)

    def _called(self, call: ast.FunctionCall) -> None:
        if call.namespace == "json" and len(call.arguments) > 1:
            self._read(call, *call.arguments[:2])
            return
        names = [each.name for each in call.arguments if isinstance(each, ast.Variable)]
        constants = [each for each in call.arguments if isinstance(each, ast.Constant)]
        for each in constants:
            if isinstance(each.value, str) and each.value not in _DATES:
                # What texts are cut at stands between two words.
                is_between = not any(map(str.isalnum, each.value)) and len(each.value) == 1
                value = each.value.join(WORDS) if is_between else each.value
                for name in names[:1]:
                    self.by_attribute.setdefault(name, []).append(value)
            elif isinstance(each.value, int) and not each.is_time and each.value <= 200:
                self.most = max(self.most, each.value)

    def _read(self, call: ast.FunctionCall, one: ast.Expression, path: ast.Expression) -> None:
        """`json:getInt(attribute, '$.a.b')` wants a number there."""
        if not (isinstance(one, ast.Variable) and isinstance(path, ast.Constant)):
            return
        place = self.documents.setdefault(one.name, {})
        *above, last = re.findall(r"[A-Za-z_]\w*", str(path.value)) or ["value"]
        for each in above:
            inner = place.get(each)
            place[each] = place = inner if isinstance(inner, dict) else {}
        place.setdefault(last, JSON_VALUES.get(call.name, "alpha"))


class Inventor:
    """Draws rows; the same seed draws the same ones."""

    def __init__(self, checked: CheckedApp, seed: int) -> None:
        self._constants = Constants.of(checked)
        self._is_hl7 = any(
            (one.get("type") or "").lower() == "hl7"
            for one in below(checked.app.definitions)
            if isinstance(one, ast.Annotation)
        )
        self._draw = Random(seed)
        self._count = 0

    @property
    def most(self) -> int:
        """How many events a window waits for at most."""
        return self._constants.most

    def row(self, schema: StreamSchema) -> tuple[Any, ...]:
        """Values of the stream's types, none of them null."""
        self._count += 1
        return tuple(self._value(each.name, each.type) for each in schema.attributes)

    def _value(self, name: str, kind: AttributeType) -> Any:
        known = list(self._fitting(name, kind))
        if kind is AttributeType.BOOL:
            return self._draw.random() < 0.7
        if kind is AttributeType.STRING:
            return self._draw.choice(known or list(self._words(name)))
        if kind not in _NUMBERS:
            return None
        if known and self._draw.random() < 0.85:
            value: Any = self._draw.choice(known)
        elif name.lower().endswith(_TIMES) and kind is AttributeType.LONG:
            value = NOW_MS + 1_000 * self._count
        else:
            value = self._draw.choice(KEYS if name.lower().endswith(_KEYS) else NUMBERS)
        return int(value) if kind in _WHOLE else float(value)

    def _fitting(self, name: str, kind: AttributeType) -> Iterator[Any]:
        for each in self._constants.by_attribute.get(name, ()):
            if kind is AttributeType.STRING and isinstance(each, str):
                yield each
            elif kind in _NUMBERS and isinstance(each, int | float) and not isinstance(each, bool):
                yield from (each - 1, each, each + 1)

    def _words(self, name: str) -> Iterator[str]:
        low = name.lower()
        if name in self._constants.documents:
            yield json.dumps(self._constants.documents[name])
        elif self._is_hl7 and low in ("payload", "message"):
            yield HL7.format(self._count)
        elif self._is_hl7 and name in HEADER:
            yield HEADER[name].format(self._count)
        elif self._constants.dates and low.endswith(_TIMES):
            yield from (each.format(self._count % 9) for each in self._constants.dates)
        elif low.endswith(_ADDRESS):
            yield from ("192.168.0.1", "10.0.0.2")
        else:
            yield from WORDS
