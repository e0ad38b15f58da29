"""Parsing what is printed gives an equal tree, whatever the tree."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings

from lockstep.siddhiql import ast, parse, print_app, print_node
from tests.property import siddhiql_trees as trees
from tests.property.amount import examples

_SETTINGS = settings(
    max_examples=examples(300),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def _returns(node: Any, kind: str) -> None:
    text = print_node(node)
    assert parse(text, kind) == node, text


@given(trees.EXPRESSIONS)
@_SETTINGS
def test_expressions(expression: ast.Expression) -> None:
    """Precedence, association, literals and names survive."""
    _returns(expression, "expression")


@given(trees.DEFINITIONS)
@_SETTINGS
def test_definitions(definition: ast.Definition) -> None:
    """Definitions with their annotations survive."""
    _returns(definition, f"{type(definition).__name__.removesuffix('Definition')} definition")


@given(trees.QUERIES)
@_SETTINGS
def test_queries(query: ast.Query) -> None:
    """Streams, joins, patterns, sequences, selectors, rates and actions survive."""
    _returns(query, "query")


@given(trees.ON_DEMAND)
@_SETTINGS
def test_on_demand_queries(query: ast.OnDemandQuery) -> None:
    """Reading and writing on-demand queries survive."""
    _returns(query, "on demand query")


@given(trees.APPS)
@settings(_SETTINGS, max_examples=examples(100))
def test_apps(app: ast.App) -> None:
    """Whole apps survive, and printing again gives the same text."""
    text = print_app(app)
    parsed = parse(text)
    assert parsed == app
    assert print_app(parsed) == text
