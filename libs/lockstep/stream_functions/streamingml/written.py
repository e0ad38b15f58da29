"""Objects of a library as plain values and back, for snapshots: its own numbers, and no pickle.

All objects that hang together are written as a list of nodes that name each other by their place,
so that what was one object is one again. A node says what it is and what it holds. Reading makes
objects of the classes of one library alone, without calling what they call when they are made.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from importlib import import_module
from types import MethodType
from typing import Any, Final

from lockstep.operators.contract import PlainState
from lockstep.operators.errors import SnapshotError

_BUILT_IN: Final[frozenset[type]] = frozenset({defaultdict, dict})
_SCALARS: Final = frozenset({type(None), bool, int, float, str, bytes})
_LIST, _TUPLE, _SET, _DICT, _OBJECT, _METHOD, _PARTIAL, _DEFAULTS, _COUNTER, _CLASS = (
    "list", "tuple", "set", "dict", "object", "method", "partial", "defaults", "counter", "class",
)  # fmt: skip


def written(library: str, root: Any, others: Iterable[Any] = ()) -> PlainState:
    """An object of the library with all that hangs on it. `others`: objects of another's classes
    that are in it; what else there is of these classes is nothing that the model goes by, and comes
    back as made of 0. SnapshotError for an object of any other class."""
    writer = _Writer(library, tuple(others))
    top = writer.value(root)
    return (top, writer.nodes)


def read(library: str, state: PlainState, others: Iterable[type] = ()) -> Any:
    """What `written` was given; `others`: the classes of its others. SnapshotError for what it did
    not write."""
    top, nodes = state
    try:
        return _Reader(library, nodes, frozenset(others)).value(top)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ImportError) as error:
        raise SnapshotError(f"a model cannot be read: {error}") from error


class _Writer:
    """A value is a scalar in a tuple of one, or the place of a node."""

    def __init__(self, library: str, others: tuple[Any, ...]) -> None:
        self._library = library
        self._others = others
        self._classes = {*map(type, others), *_BUILT_IN}
        self.nodes: list[Any] = []
        self._places: dict[int, int] = {}
        self._alive: list[Any] = []  # so that no id is used twice

    def value(self, found: Any) -> Any:
        if type(found) in _SCALARS:
            return (found,)
        place = self._places.get(id(found))
        if place is None:
            place = self._places[id(found)] = len(self.nodes)
            self._alive.append(found)
            self.nodes.append(None)
            self.nodes[place] = self._node(found)
        return place

    def _all(self, found: Any) -> list[Any]:
        return [self.value(each) for each in found]

    def _pairs(self, found: Any) -> list[Any]:
        return [(self.value(key), self.value(each)) for key, each in found.items()]

    def _node(self, found: Any) -> tuple[Any, ...]:
        kind = type(found)
        if kind is list:
            return (_LIST, self._all(found))
        if kind is tuple:
            return (_TUPLE, self._all(found))
        if kind is set:
            return (_SET, self._all(sorted(found)))
        if kind is dict:
            return (_DICT, self._pairs(found))
        if kind is Counter:
            return (_COUNTER, self._pairs(found))
        if kind is defaultdict:
            return (_DEFAULTS, self.value(found.default_factory), self._pairs(found))
        if kind is functools.partial:
            return (_PARTIAL, self.value(found.func), self.value(found.args))
        if kind is MethodType:
            return (_METHOD, self.value(found.__self__), found.__name__)
        if isinstance(found, type):
            return (_CLASS, *self._name(found))
        return self._object(found)

    def _object(self, found: Any) -> tuple[Any, ...]:
        kind = type(found)
        if kind in self._classes and not any(found is one for one in self._others):
            return (_OBJECT, *self._name(kind), True, self.value((0,)), (None,))
        _, arguments, *rest = found.__reduce_ex__(2)
        state = rest[0] if rest else None
        if state is None and arguments[:1] != (kind,):
            return (_OBJECT, *self._name(kind), True, self.value(tuple(arguments)), (None,))
        made_of = self.value(tuple(arguments[1:]))
        return (_OBJECT, *self._name(kind), False, made_of, self.value(state))

    def _name(self, kind: type) -> tuple[str, str]:
        module = kind.__module__
        is_known = kind in self._classes or module.partition(".")[0] == self._library
        if not is_known:
            raise SnapshotError(f"a model holds a {module}.{kind.__qualname__}")
        return module, kind.__qualname__


class _Reader:
    def __init__(self, library: str, nodes: list[Any], others: frozenset[type]) -> None:
        self._library = library
        self._others = {(each.__module__, each.__qualname__): each for each in others | _BUILT_IN}
        self._nodes = nodes
        self._made: dict[int, Any] = {}

    def value(self, found: Any) -> Any:
        if isinstance(found, tuple):
            return found[0]
        if found not in self._made:
            kind, *content = self._nodes[found]
            _MAKERS[kind](self, found, *content)
        return self._made[found]

    def _all(self, found: list[Any]) -> list[Any]:
        return [self.value(each) for each in found]

    def fill(self, into: Any, pairs: list[Any]) -> None:
        for key, each in pairs:
            into[self.value(key)] = self.value(each)

    def make_list(self, place: int, content: list[Any]) -> None:
        made: list[Any] = []
        self._made[place] = made
        made.extend(self._all(content))

    def make_tuple(self, place: int, content: list[Any]) -> None:
        self._made[place] = tuple(self._all(content))

    def make_set(self, place: int, content: list[Any]) -> None:
        self._made[place] = set(self._all(content))

    def make_mapping(self, kind: type, place: int, content: list[Any]) -> None:
        made = kind()
        self._made[place] = made
        self.fill(made, content)

    def make_defaults(self, place: int, factory: Any, content: list[Any]) -> None:
        made: defaultdict[Any, Any] = defaultdict(self.value(factory))
        self._made[place] = made
        self.fill(made, content)

    def make_partial(self, place: int, function: Any, arguments: Any) -> None:
        self._made[place] = functools.partial(self.value(function), *self.value(arguments))

    def make_method(self, place: int, owner: Any, name: str) -> None:
        self._made[place] = getattr(self.value(owner), name)

    def make_class(self, place: int, module: str, name: str) -> None:
        self._made[place] = self._class(module, name)

    def make_object(
        self, place: int, module: str, name: str, is_called: bool, made_of: Any, state: Any
    ) -> None:
        kind = self._class(module, name)
        arguments = self.value(made_of)
        made = kind(*arguments) if is_called else kind.__new__(kind, *arguments)
        self._made[place] = made
        self._put(made, self.value(state))

    def _put(self, made: Any, state: Any) -> None:
        if state is None:
            return
        if hasattr(made, "__setstate__"):
            made.__setstate__(state)
            return
        attributes, slots = state if isinstance(state, tuple) else (state, None)
        for each in (attributes, slots):
            for name, value in (each or {}).items():
                object.__setattr__(made, name, value)

    def _class(self, module: str, name: str) -> Any:
        if (module, name) in self._others:
            return self._others[module, name]
        if module.partition(".")[0] != self._library:
            raise SnapshotError(f"a model is said to hold a {module}.{name}")
        found: Any = import_module(module)
        for step in name.split("."):
            found = getattr(found, step)
        if not isinstance(found, type):
            raise SnapshotError(f"{module}.{name} is no class")
        return found


_MAKERS: Final[dict[str, Callable[..., None]]] = {
    _LIST: _Reader.make_list,
    _TUPLE: _Reader.make_tuple,
    _SET: _Reader.make_set,
    _DICT: lambda reader, *rest: reader.make_mapping(dict, *rest),
    _COUNTER: lambda reader, *rest: reader.make_mapping(Counter, *rest),
    _DEFAULTS: _Reader.make_defaults,
    _PARTIAL: _Reader.make_partial,
    _METHOD: _Reader.make_method,
    _CLASS: _Reader.make_class,
    _OBJECT: _Reader.make_object,
}
