"""Strategies for syntax trees as the parser can give them (grammar 3-14)."""

from __future__ import annotations

from hypothesis import strategies as st

from lockstep.events import AttributeType
from lockstep.siddhiql import ast

LONG_MAX = 2**63 - 1

WORDS = st.sampled_from(
    [
        *("a", "b", "price", "symbol", "S", "Trades", "e1", "_x9"),
        *("select", "min", "last", "every", "not", "true", "from", "window", "group", "of"),
        *("odd name", "ünder", "1st"),
    ]
)
SOURCES = st.one_of(WORDS, WORDS.map("#{}".format), WORDS.map("!{}".format))
IDENTIFIERS = st.sampled_from(["f", "Tick", "select", "per second"])
TYPES = st.sampled_from(list(AttributeType))

_QUOTABLE = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"), exclude_characters="\"'"),
    max_size=8,
)
TEXTS = st.one_of(
    _QUOTABLE,
    st.sampled_from(["it's", 'a "b" c', "two\nlines", "--no comment", "/* nor this */", "\\n"]),
)


def constant(
    type_: AttributeType, values: st.SearchStrategy[object]
) -> st.SearchStrategy[ast.Constant]:
    """Literals of a type."""
    return st.builds(ast.Constant, values, st.just(type_))


_FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
_DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
TIMES = st.integers(0, 10**12)
CONSTANTS = st.one_of(
    constant(AttributeType.INT, st.integers(-(2**31), 2**31 - 1)),
    constant(AttributeType.LONG, st.integers(-(2**63), LONG_MAX)),
    constant(AttributeType.FLOAT, _FLOATS),
    constant(AttributeType.DOUBLE, _DOUBLES),
    constant(AttributeType.BOOL, st.booleans()),
    constant(AttributeType.STRING, TEXTS),
    st.builds(ast.Constant, TIMES, st.just(AttributeType.LONG), st.just(True)),
)
INDEXES = st.builds(ast.EventIndex, st.integers(0, 99), st.booleans())
VARIABLES = st.one_of(
    st.builds(ast.Variable, WORDS),
    st.builds(ast.Variable, WORDS, SOURCES),
    st.builds(ast.Variable, WORDS, SOURCES, INDEXES),
)
EVENTS = st.one_of(
    st.builds(ast.EventReference, SOURCES, INDEXES),
    st.builds(ast.EventReference, WORDS.map("#{}".format)),
)
_NAMESPACES = st.one_of(st.none(), WORDS)


def _calls(arguments: st.SearchStrategy[ast.Expression]) -> st.SearchStrategy[ast.FunctionCall]:
    return st.one_of(
        st.builds(
            ast.FunctionCall,
            WORDS,
            st.lists(arguments, max_size=3).map(tuple),
            _NAMESPACES,
        ),
        st.builds(ast.FunctionCall, WORDS, st.just(()), _NAMESPACES, st.just(True)),
    )


def _larger(inner: st.SearchStrategy[ast.Expression]) -> st.SearchStrategy[ast.Expression]:
    calls = _calls(inner)
    return st.one_of(
        st.builds(ast.Arithmetic, st.sampled_from(list(ast.ArithmeticOperator)), inner, inner),
        st.builds(ast.Compare, st.sampled_from(list(ast.CompareOperator)), inner, inner),
        st.builds(ast.And, inner, inner),
        st.builds(ast.Or, inner, inner),
        st.builds(ast.Not, inner),
        st.builds(ast.InTable, inner, WORDS),
        st.builds(ast.IsNull, st.one_of(VARIABLES, EVENTS, calls)),
        calls,
    )


EXPRESSIONS: st.SearchStrategy[ast.Expression] = st.recursive(
    st.one_of(CONSTANTS, VARIABLES), _larger, max_leaves=8
)
CALLS = _calls(EXPRESSIONS)


# --- annotations and definitions ---------------------------------------------------------------

ELEMENTS = st.builds(
    ast.Element,
    st.one_of(
        st.none(),
        st.sampled_from(
            ["name", "buffer.size", "a-b:c", "a key of words", "select", "receiver.url"]
        ),
    ),
    TEXTS,
)
ANNOTATIONS = st.recursive(
    st.builds(ast.Annotation, WORDS, st.lists(ELEMENTS, max_size=2).map(tuple)),
    lambda nested: st.builds(
        ast.Annotation,
        WORDS,
        st.lists(ELEMENTS, max_size=2).map(tuple),
        st.lists(nested, max_size=2).map(tuple),
    ),
    max_leaves=3,
)
NOTES = st.lists(ANNOTATIONS, max_size=2).map(tuple)
APP_ANNOTATIONS = st.builds(
    ast.Annotation,
    st.sampled_from(["app:name", "app:playback", "app:every", "app:odd one"]),
    st.lists(ELEMENTS, max_size=2).map(tuple),
)
ATTRIBUTES = st.lists(
    st.builds(ast.AttributeDefinition, WORDS, TYPES),
    min_size=1,
    max_size=4,
    unique_by=lambda attribute: attribute.name,
).map(tuple)
EVENT_KINDS = st.one_of(st.none(), st.sampled_from(list(ast.EventSelection)))
_BODIES = st.sampled_from([" return 1; ", "", ' "}" // }\n {a{b}} ', "\n"])

# --- inputs --------------------------------------------------------------------------------------

_FILTERS = st.builds(ast.Filter, EXPRESSIONS)
_FUNCTIONS = st.builds(ast.StreamFunction, CALLS)
_HANDLERS = st.lists(st.one_of(_FILTERS, _FUNCTIONS), max_size=2)
_WINDOWS = st.lists(st.builds(ast.WindowHandler, CALLS), max_size=1)
_STATE_STREAMS = st.builds(ast.StreamInput, SOURCES, _HANDLERS.map(tuple))
STREAMS = st.builds(
    ast.StreamInput,
    SOURCES,
    st.builds(lambda a, b, c: (*a, *b, *c), _HANDLERS, _WINDOWS, _HANDLERS),
)
_SIDES = st.builds(
    ast.StreamInput,
    SOURCES,
    st.builds(lambda a, b: (*a, *b), _HANDLERS, _WINDOWS),
    st.one_of(st.none(), WORDS),
)
RANGES = st.builds(ast.Range, EXPRESSIONS, st.one_of(st.none(), EXPRESSIONS), EXPRESSIONS)
_OPTIONAL_RANGES = st.one_of(st.none(), RANGES)
_CONDITIONS = st.one_of(st.none(), EXPRESSIONS)
JOINS = st.builds(
    ast.JoinInput,
    _SIDES,
    _SIDES,
    st.sampled_from(list(ast.JoinType)),
    st.sampled_from(list(ast.JoinTrigger)),
    _CONDITIONS,
    _OPTIONAL_RANGES,
)

_STATES = st.builds(ast.StreamState, _STATE_STREAMS, st.one_of(st.none(), WORDS))
_WAITS = st.builds(ast.AbsentState, _STATE_STREAMS, TIMES)
_ABSENCES = st.builds(ast.AbsentState, _STATE_STREAMS, st.one_of(st.none(), TIMES))


def _counts(spellings: list[tuple[str, int, int | None]]) -> st.SearchStrategy[ast.CountState]:
    written = st.sampled_from(spellings)
    return st.builds(lambda state, c: ast.CountState(state, c[1], c[2], c[0]), _STATES, written)


_PATTERN_COUNTS = _counts([("<>", 0, 3), ("<>", 2, 2), ("<>", 2, None), ("<>", 0, None)])
_SEQUENCE_COUNTS = _counts([("+", 1, None), ("*", 0, None), ("?", 0, 1), ("<>", 2, 5)])
_LOGICALS = st.one_of(
    st.builds(ast.LogicalState, st.one_of(_STATES, _ABSENCES), _STATES, st.just(True)),
    st.builds(ast.LogicalState, _STATES, st.one_of(_STATES, _WAITS), st.booleans()),
)
_WITHIN = st.one_of(st.none(), TIMES)


def _chains(
    elements: st.SearchStrategy[ast.StateElement],
) -> st.SearchStrategy[ast.ChainState]:
    """Chains with at least one event that is present."""
    return st.builds(
        lambda first, rest: ast.ChainState((first, *rest)),
        _STATES,
        st.lists(elements, min_size=1, max_size=3),
    )


_STEPS = st.one_of(_STATES, _PATTERN_COUNTS, _LOGICALS, _WAITS)
_GROUPS = _chains(_STEPS)
_REPEATED = st.builds(ast.EveryState, st.one_of(_STEPS, _GROUPS))
PATTERNS = st.one_of(
    st.builds(
        ast.StateInput,
        st.one_of(_chains(st.one_of(_STEPS, _REPEATED, _GROUPS)), _REPEATED, _PATTERN_COUNTS),
        st.just(False),
        _WITHIN,
    ),
    st.builds(ast.StateInput, _STATES, st.just(False), TIMES),
)
_SEQUENCE_STEPS = st.one_of(_STATES, _SEQUENCE_COUNTS, _LOGICALS, _WAITS)
SEQUENCES = st.builds(
    lambda first, repeats, rest, within: ast.StateInput(
        ast.ChainState((ast.EveryState(first) if repeats else first, *rest)), True, within
    ),
    _STATES,
    st.booleans(),
    st.lists(st.one_of(_SEQUENCE_STEPS, _chains(_SEQUENCE_STEPS)), min_size=1, max_size=3),
    _WITHIN,
)
INPUTS = st.one_of(STREAMS, JOINS, PATTERNS, SEQUENCES)

# --- queries -------------------------------------------------------------------------------------

_OUTPUTS = st.one_of(
    st.builds(ast.OutputAttribute, VARIABLES),
    st.builds(ast.OutputAttribute, EXPRESSIONS, WORDS),
)
_LIMITS = st.one_of(st.none(), constant(AttributeType.INT, st.integers(0, 9)))
_SELECTED = st.one_of(st.none(), st.lists(_OUTPUTS, min_size=1, max_size=3).map(tuple))
_GROUPED = st.lists(VARIABLES, max_size=2).map(tuple)
EXPLICIT = st.builds(
    ast.Selector,
    _SELECTED,
    _GROUPED,
    _CONDITIONS,
    st.lists(st.builds(ast.OrderBy, VARIABLES, st.booleans()), max_size=2).map(tuple),
    _LIMITS,
    _LIMITS,
)
SELECTORS = st.one_of(EXPLICIT, st.just(ast.Selector(explicit=False)))
_KINDS = st.sampled_from([ast.RateKind.ALL, ast.RateKind.FIRST, ast.RateKind.LAST])
RATES = st.one_of(
    st.none(),
    st.builds(ast.OutputRate, _KINDS, st.integers(1, 9)),
    st.builds(ast.OutputRate, st.sampled_from(list(ast.RateKind)), st.none(), TIMES),
)
_SETS = st.one_of(
    st.none(),
    st.lists(st.builds(ast.SetItem, VARIABLES, EXPRESSIONS), min_size=1, max_size=2).map(tuple),
)
ACTIONS = st.one_of(
    st.builds(ast.InsertInto, SOURCES, EVENT_KINDS),
    st.builds(ast.DeleteFrom, WORDS, _CONDITIONS, EVENT_KINDS),
    st.builds(ast.UpdateTable, WORDS, EXPRESSIONS, _SETS, EVENT_KINDS),
    st.builds(ast.UpdateOrInsert, WORDS, EXPRESSIONS, _SETS, EVENT_KINDS),
    st.builds(ast.ReturnEvents, EVENT_KINDS),
)
QUERIES = st.builds(ast.Query, INPUTS, SELECTORS, ACTIONS, RATES, NOTES)
_KEYS = st.one_of(
    st.builds(ast.ValueKey, EXPRESSIONS, WORDS),
    st.builds(
        ast.RangeKey,
        st.lists(st.builds(ast.RangeCase, EXPRESSIONS, TEXTS), min_size=1, max_size=2).map(tuple),
        WORDS,
    ),
)
PARTITIONS = st.builds(
    ast.Partition,
    st.lists(_KEYS, min_size=1, max_size=2).map(tuple),
    st.lists(QUERIES, min_size=1, max_size=2).map(tuple),
    NOTES,
)

_AGGREGATION_SELECTORS = st.builds(ast.Selector, _SELECTED, _GROUPED)


def _aggregations(
    granularities: st.SearchStrategy[tuple[ast.Granularity, ...]], is_range: bool
) -> st.SearchStrategy[ast.AggregationDefinition]:
    return st.builds(
        ast.AggregationDefinition,
        IDENTIFIERS,
        STREAMS,
        _AGGREGATION_SELECTORS,
        granularities,
        st.just(is_range),
        st.one_of(st.none(), VARIABLES),
        NOTES,
    )


_GRANULARITY = st.sampled_from(list(ast.Granularity))
AGGREGATIONS = st.one_of(
    _aggregations(st.lists(_GRANULARITY, min_size=1, max_size=3).map(tuple), False),
    _aggregations(st.tuples(_GRANULARITY, _GRANULARITY), True),
)
DEFINITIONS = st.one_of(
    st.builds(ast.StreamDefinition, WORDS, ATTRIBUTES, NOTES),
    st.builds(ast.TableDefinition, WORDS, ATTRIBUTES, NOTES),
    st.builds(ast.WindowDefinition, WORDS, ATTRIBUTES, CALLS, EVENT_KINDS, NOTES),
    st.builds(ast.TriggerDefinition, IDENTIFIERS, TIMES),
    st.builds(ast.TriggerDefinition, IDENTIFIERS, st.none(), TEXTS),
    st.builds(ast.FunctionDefinition, IDENTIFIERS, IDENTIFIERS, TYPES, _BODIES),
    AGGREGATIONS,
)
APPS = st.builds(
    ast.App,
    st.lists(APP_ANNOTATIONS, max_size=2).map(tuple),
    st.lists(DEFINITIONS, min_size=1, max_size=3).map(tuple),
    st.lists(st.one_of(QUERIES, PARTITIONS), max_size=2).map(tuple),
)
_FINDS = st.builds(ast.OnDemandQuery, WORDS, SELECTORS, st.none(), _CONDITIONS, _OPTIONAL_RANGES)
_SPANS = st.builds(ast.Range, EXPRESSIONS, st.one_of(st.none(), EXPRESSIONS), st.none())
_PASTS = st.builds(ast.OnDemandQuery, WORDS, SELECTORS, st.none(), _CONDITIONS, _SPANS)
_WRITES = st.builds(ast.OnDemandQuery, st.none(), EXPLICIT, ACTIONS)
ON_DEMAND = st.one_of(_FINDS, _PASTS, _WRITES)
