"""Builds annotations and definitions (grammar 4-6)."""

from __future__ import annotations

from typing import Any

from lark import Token

from lockstep.events import AttributeType
from lockstep.siddhiql import ast
from lockstep.siddhiql.syntax.build_expressions import Nodes, unquote
from lockstep.siddhiql.syntax.names import Name, error, every, first, has, place


class AnnotationRules:
    """Grammar 5."""

    def dot(self, children: Nodes) -> str:
        return "."

    def dash(self, children: Nodes) -> str:
        return "-"

    def colon(self, children: Nodes) -> str:
        return ":"

    def key(self, children: Nodes) -> tuple[str]:
        if isinstance(children[0], Token):
            return (unquote(children[0]),)
        return ("".join(c.text if isinstance(c, Name) else c for c in children),)

    def element(self, children: Nodes) -> ast.Element:
        key = None if isinstance(children[0], Token) else children[0][0]
        return ast.Element(key, unquote(children[-1]))

    def annotation(self, children: Nodes) -> ast.Annotation:
        name = children[1]
        return ast.Annotation(
            name.text,
            every(children, ast.Element),
            every(children, ast.Annotation),
            at=place(children[0]),
        )

    def app_annotation(self, children: Nodes) -> ast.Annotation:
        name = children[2]
        return ast.Annotation(
            f"app:{name.text}", every(children, ast.Element), at=place(children[0])
        )


def _plain(name: Name) -> Name:
    """A name that may be defined: without `#` and `!`."""
    if name.prefix:
        raise error(
            name.at,
            f"{name.full!r} cannot be defined: '#' and '!' streams come into being by use",
            f"define it as {name.text!r}",
        )
    return name


class DefinitionRules:
    """Grammar 6."""

    def type(self, children: Nodes) -> AttributeType:
        return AttributeType(children[0].type.lower())

    def attribute(self, children: Nodes) -> ast.AttributeDefinition:
        return ast.AttributeDefinition(children[0].text, children[1], at=children[0].at)

    def attributes(self, children: Nodes) -> tuple[ast.AttributeDefinition, ...]:
        seen: set[str] = set()
        for attribute in children:
            if attribute.name in seen:
                raise error(
                    attribute.at, f"two attributes are called {attribute.name!r}", "rename one"
                )
            seen.add(attribute.name)
        return tuple(children)

    def stream_definition(self, children: Nodes) -> ast.StreamDefinition:
        name = _plain(children[-2])
        return ast.StreamDefinition(
            name.text, children[-1], every(children, ast.Annotation), at=name.at
        )

    def table_definition(self, children: Nodes) -> ast.TableDefinition:
        name = _plain(children[-2])
        return ast.TableDefinition(
            name.text, children[-1], every(children, ast.Annotation), at=name.at
        )

    def window_definition(self, children: Nodes) -> ast.WindowDefinition:
        name = first(children, Name)
        window = first(children, ast.FunctionCall)
        attributes = first(children, tuple)
        assert name is not None
        assert window is not None
        assert attributes is not None
        return ast.WindowDefinition(
            _plain(name).text,
            attributes,
            window,
            first(children, ast.EventSelection),
            every(children, ast.Annotation),
            at=name.at,
        )

    def _refuse_annotations(self, children: Nodes, what: str) -> None:
        annotation = first(children, ast.Annotation)
        if annotation is not None:
            raise error(annotation.at, f"a {what} takes no annotations", "remove it")

    def trigger_definition(self, children: Nodes) -> ast.TriggerDefinition:
        self._refuse_annotations(children, "trigger")
        name = first(children, Name)
        assert name is not None
        every_time = first(children, ast.Constant)
        if every_time is not None:
            return ast.TriggerDefinition(name.text, every_ms=int(every_time.value), at=name.at)
        return ast.TriggerDefinition(name.text, expression=unquote(children[-1]), at=name.at)

    def function_definition(self, children: Nodes) -> ast.FunctionDefinition:
        self._refuse_annotations(children, "function")
        name, language = every(children, Name)
        returns: Any = first(children, AttributeType)
        return ast.FunctionDefinition(
            name.text, language.text, returns, children[-1][1:-1], at=name.at
        )

    def granularity(self, children: Nodes) -> ast.Granularity:
        return ast.Granularity(children[0].type.lower())

    def granularities(self, children: Nodes) -> tuple[bool, tuple[ast.Granularity, ...]]:
        return False, tuple(children)

    def granularity_range(self, children: Nodes) -> tuple[bool, tuple[ast.Granularity, ...]]:
        return True, tuple(children)

    def aggregation_definition(self, children: Nodes) -> ast.AggregationDefinition:
        name = first(children, Name)
        stream = first(children, ast.StreamInput)
        selector = first(children, ast.Selector)
        assert name is not None
        assert stream is not None
        assert selector is not None
        is_range, granularities = children[-1]
        return ast.AggregationDefinition(
            name.text,
            stream,
            selector,
            granularities,
            is_range,
            first(children, ast.Variable) if has(children, "BY") else None,
            every(children, ast.Annotation),
            at=name.at,
        )
