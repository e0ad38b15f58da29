"""Which units of a fleet an on-demand query concerns, and how their answers become one. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lockstep.fleet.keys import key_group_of, row_key
from lockstep.fleet.units import Unit
from lockstep.plan import AppPlan
from lockstep.plan.fleet import FleetPlan, GroupPlan, key_groups_of
from lockstep.plan.fleet.keys import conjuncts
from lockstep.siddhiql import SiddhiQLError, ast, check_on_demand
from lockstep.siddhiql.checked import CheckedOnDemand, SourceKind
from lockstep.siddhiql.printing import print_node
from lockstep.siddhiql.trees import below
from lockstep.siddhiql.typing import positioned

_MOMENTS: Final = ("eventTimestamp", "currentTimeMillis")


@dataclass(frozen=True)
class Place:
    """A partition of a group, by the group's name."""

    group: str
    partition: int


@dataclass(frozen=True)
class Gathered:
    """Rows of a table that are needed in one place: what is asked for them at each of `places`.
    The last values of each row are its time and the time at which it was asked for."""

    table: str
    query: str
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Asked:
    """Whom a query concerns. `places`: who answers it, or carries it out; rows of several are put
    behind each other. `gathered`: instead, the tables that are brought together and asked then."""

    places: tuple[Place, ...]
    gathered: tuple[Gathered, ...] = ()


def asking_of(units: Sequence[Unit]) -> Asking:
    """How the units of a fleet are asked."""
    return Asking(units[0].plan.fleet, {unit.group.name: unit.plan.app for unit in units})


class Asking:
    """How queries are asked of one fleet."""

    def __init__(self, fleet: FleetPlan, apps: Mapping[str, AppPlan]) -> None:
        """`apps`: those of the groups, by name."""
        self._fleet = fleet
        self._groups = [group for group in fleet.groups if group.name in apps]
        self._apps = apps
        self._cut = {
            table: (group, key)
            for group in self._groups
            if group.partitions > 1
            for table, key in group.tables
        }

    def of(self, text: str) -> Asked:
        """Whom a query concerns; of one that is not valid, whoever says what is wrong with it.
        SiddhiQLError for what cannot be asked of tables that are cut."""
        try:
            checked = check_on_demand(text, self._fleet.app.checked)
        except SiddhiQLError:
            return self._of_one(text)
        used = _used(checked.query)
        if not any(table in self._cut for table in used):
            return self._of_one(text)
        if checked.is_write:
            return Asked(self._writing(checked))
        return self._reading(checked, used)

    def _of_one(self, text: str) -> Asked:
        return Asked((Place(self._understands(text).name, 0),))

    def concerns(self, text: str, unit: Unit) -> bool:
        """Whether a unit carries out a query that writes. Of what cannot be asked nobody does."""
        try:
            places = self.of(text).places
        except SiddhiQLError:
            return False
        return Place(unit.group.name, unit.partition) in places

    def _understands(self, text: str) -> GroupPlan:
        """The first group whose app does; else the first of all, which says what is wrong."""
        for group in self._groups:
            try:
                check_on_demand(text, self._apps[group.name].checked)
            except SiddhiQLError:
                continue
            return group
        return self._groups[0]

    # --- reading ---------------------------------------------------------------------------------

    def _reading(self, checked: CheckedOnDemand, used: Sequence[str]) -> Asked:
        query = checked.query
        assert query.source is not None
        asks = any(isinstance(one, ast.InTable) for one in below(query))
        if not asks:
            group, key = self._cut[query.source]
            value = _said(query.on, key)
            if value is not None:
                return Asked((_place_of(group, value),))
            if not _is_of_all(checked):
                return Asked(_places(group))
        elif checked.kind is not SourceKind.TABLE:
            raise positioned(
                query.at,
                f"'{query.source}' is in one place, and a table that it is compared with is cut",
                "ask for the rows, and compare them outside",
            )
        return Asked((), tuple(self._gathered(table, checked) for table in used))

    def _gathered(self, table: str, checked: CheckedOnDemand) -> Gathered:
        query = checked.query
        asks = any(isinstance(one, ast.InTable) for one in below(query.on))
        on = query.on if table == query.source and not asks else None
        names = self._fleet.app.checked.schemas[table].names
        where = "" if on is None else f" on {print_node(on)}"
        last = (f"{function}() as {_free(function, names)}" for function in _MOMENTS)
        wanted = ", ".join((*names, *last))
        if table in self._cut:
            places = _places(self._cut[table][0])
        else:
            home = self._understands(f"from {table} select {names[0]}")
            places = (Place(home.name, 0),)
        return Gathered(table, f"from {table}{where} select {wanted}", places)

    # --- writing ---------------------------------------------------------------------------------

    def _writing(self, checked: CheckedOnDemand) -> tuple[Place, ...]:
        query, target = checked.query, checked.output.name
        asked = [one for one in below(query) if isinstance(one, ast.InTable)]
        if target not in self._cut or query.source is not None or asked:
            raise positioned(
                query.at,
                "a table that is cut cannot be compared with others, or copied, while one of"
                " them is written",
                "ask for the rows first, and write them as values",
            )
        group, key = self._cut[target]
        action = query.action
        if isinstance(action, ast.InsertInto):
            place = self._fleet.app.checked.schemas[target].names.index(key)
            return (_place_of(group, _value_of(checked, checked.output.names[place])),)
        meant = _meant(checked, key)
        if not isinstance(action, ast.DeleteFrom):
            _refuse_move(checked, key, meant)
        if isinstance(action, ast.UpdateOrInsert) and key not in meant:
            raise positioned(
                query.at,
                f"'{target}' is cut by '{key}', and the condition does not say which row's '{key}'"
                " is meant",
                f"write: on {target}.{key} == {key}, and give '{key}' a value",
            )
        found = next((one for one in meant.values() if isinstance(one, ast.Constant)), None)
        if isinstance(action, ast.UpdateOrInsert):
            found = _value_of(checked, key)
        return _places(group) if found is None else (_place_of(group, found),)


def _free(name: str, taken: Sequence[str]) -> str:
    """A name that is none of those."""
    while name in taken:
        name += "_"
    return name


def _used(query: ast.OnDemandQuery) -> list[str]:
    """The stores that a query names."""
    named = [query.source, getattr(query.action, "target", None)]
    named += [one.table for one in below(query) if isinstance(one, ast.InTable)]
    return list(dict.fromkeys(name for name in named if name is not None))


def _places(group: GroupPlan) -> tuple[Place, ...]:
    return tuple(Place(group.name, partition) for partition in range(group.partitions))


def _place_of(group: GroupPlan, value: ast.Constant) -> Place:
    """Where the rows of one key are."""
    number = key_group_of(row_key(value.value))
    partitions = range(group.partitions)
    return Place(
        group.name, next(p for p in partitions if number in key_groups_of(p, group.partitions))
    )


def _is_of_all(checked: CheckedOnDemand) -> bool:
    """Whether an answer hangs on all rows together."""
    selector = checked.query.selector
    ordered = selector.order_by or selector.limit is not None or selector.offset is not None
    return bool(checked.uses_aggregators or selector.group_by or ordered)


def _equalities(condition: ast.Expression | None) -> Iterator[ast.Compare]:
    for one in conjuncts(condition):
        if isinstance(one, ast.Compare) and one.operator is ast.CompareOperator.EQUAL:
            yield one


def _is_exact(value: ast.Expression) -> bool:
    """A plain value whose text is the key's: 5.0 equals 5, and has another one."""
    return isinstance(value, ast.Constant) and isinstance(value.value, str | int)


def _said(on: ast.Expression | None, key: str) -> ast.Constant | None:
    """The one key whose rows a condition on a table's rows lets pass."""
    for one in _equalities(on):
        for row, value in ((one.left, one.right), (one.right, one.left)):
            if isinstance(row, ast.Variable) and row.name == key and _is_exact(value):
                assert isinstance(value, ast.Constant)
                return value
    return None


def _given(checked: CheckedOnDemand) -> dict[str, ast.Expression]:
    """What is selected, by name."""
    names = checked.output.names
    return {name: item.expression for name, item in zip(names, checked.selection, strict=True)}


def _meant(checked: CheckedOnDemand, key: str) -> dict[str, ast.Expression]:
    """What the condition of a write says that a row's key equals: given values by their names, and
    others under no name."""
    target, given = checked.output.name, _given(checked)
    found: dict[str, ast.Expression] = {}
    for one in _equalities(getattr(checked.query.action, "on", None)):
        for row, value in ((one.left, one.right), (one.right, one.left)):
            if not (isinstance(row, ast.Variable) and (row.source, row.name) == (target, key)):
                continue
            if isinstance(value, ast.Variable) and value.source is None and value.name in given:
                found[value.name] = given[value.name]
            elif _is_exact(value):
                found[""] = value
                found |= {name: each for name, each in given.items() if _same(each, value)}
    return {name: each for name, each in found.items() if _is_exact(each)}


def _same(one: ast.Expression, other: ast.Expression) -> bool:
    both = (one, other)
    return all(map(_is_exact, both)) and len({getattr(each, "value", None) for each in both}) == 1


def _value_of(checked: CheckedOnDemand, name: str) -> ast.Constant:
    value = _given(checked)[name]
    if isinstance(value, ast.Constant) and _is_exact(value):
        return value
    raise positioned(
        checked.query.at,
        f"'{checked.output.name}' is cut by key, and '{name}' of the row is not said by a plain"
        " value",
        f"write the value itself, as in: select 'a' as {name}",
    )


def _refuse_move(checked: CheckedOnDemand, key: str, meant: Mapping[str, ast.Expression]) -> None:
    """Raises SiddhiQLError where an update may give a row another key."""
    changed = getattr(checked.query.action, "set", None)
    if changed is not None:
        moves = any(one.attribute.name == key for one in changed)
    else:
        moves = key in checked.output.names and key not in meant
    if moves:
        raise positioned(
            checked.query.at,
            f"'{checked.output.name}' is cut by '{key}': a row cannot get another '{key}'",
            "delete the row, and insert it anew",
        )
