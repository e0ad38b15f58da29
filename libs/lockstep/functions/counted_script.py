"""Counts the steps of a user's function, so that one without an end ends.

A step is a turn of a loop or of a comprehension, or a call of a function that the body defines. It
is counted by calls that are written into the body's tree, so every run of it on every replica ends
at the same step. Products, powers, shifts and ranges are looked at before they are made. What runs
inside Python's own library is not counted: a worker's memory limit is what is left for that.
"""

from __future__ import annotations

import ast as python
from collections.abc import Callable
from typing import Any, Final

from lockstep.operators.limits import LimitError, check_size, limits

_STEP: Final = "__lockstep_step__"
_OPERATIONS: Final[dict[type[python.operator], str]] = {
    python.Mult: "__lockstep_times__",
    python.Pow: "__lockstep_power__",
    python.LShift: "__lockstep_shift__",
}
_BITS_PER_ELEMENT: Final = 8
_NUMBER_FROM: Final = 1 << 64


class Steps:
    """The steps that a run may still take."""

    def __init__(self) -> None:
        self._left = 0

    def begin(self) -> None:
        """A run begins."""
        self._left = limits().function_steps

    def step(self) -> bool:
        """One more."""
        self._left -= 1
        if self._left < 0:
            raise self._over("steps")
        return True

    def check(self) -> None:
        """A run has ended; LimitError if it was over the limit and took no notice."""
        if self._left < 0:
            raise self._over("steps")

    def range(self, *arguments: Any) -> Any:
        """`range`, unless nobody could go through it. LimitError."""
        made = range(*arguments)
        try:
            long = len(made) > limits().function_steps
        except OverflowError:
            long = True
        if long:
            raise self._over("numbers of a range")
        return made

    def _over(self, what: str) -> LimitError:
        most = limits().function_steps
        return LimitError(f"a function takes more than {most} {what} (limits.function_steps)")


def counted(source: str, name: str) -> tuple[Any, dict[str, Any], Steps]:
    """The code of a body that counts its steps, the names it needs, and the counter. SyntaxError,
    ValueError."""
    tree = _Counting().visit(python.parse(source, name))
    code = compile(python.fix_missing_locations(tree), name, "exec")
    steps = Steps()
    names: dict[str, Any] = {_STEP: steps.step, "range": steps.range}
    names |= {_OPERATIONS[kind]: function for kind, function in _SIZED.items()}
    return code, names, steps


class _Counting(python.NodeTransformer):
    """Writes the counting calls into a tree."""

    def visit_FunctionDef(self, node: python.FunctionDef) -> Any:
        """A call is a step."""
        self.generic_visit(node)
        node.body.insert(0, python.Expr(_call(_STEP)))
        return node

    def visit_While(self, node: python.While) -> Any:
        """A turn is a step."""
        self.generic_visit(node)
        node.body.insert(0, python.Expr(_call(_STEP)))
        return node

    def visit_For(self, node: python.For) -> Any:
        """A turn is a step."""
        self.generic_visit(node)
        node.body.insert(0, python.Expr(_call(_STEP)))
        return node

    def visit_comprehension(self, node: python.comprehension) -> Any:
        """A turn is a step, also one that a condition passes over."""
        self.generic_visit(node)
        node.ifs.insert(0, _call(_STEP))
        return node

    def visit_Lambda(self, node: python.Lambda) -> Any:
        """A call is a step."""
        self.generic_visit(node)
        node.body = python.BoolOp(python.And(), [_call(_STEP), node.body])
        return node

    def visit_BinOp(self, node: python.BinOp) -> Any:
        """What can make something large of something small is looked at first."""
        self.generic_visit(node)
        function = _OPERATIONS.get(type(node.op))
        return node if function is None else _call(function, node.left, node.right)

    def visit_AugAssign(self, node: python.AugAssign) -> Any:
        """The same with `*=`, where the target is a name."""
        self.generic_visit(node)
        function = _OPERATIONS.get(type(node.op))
        if function is None or not isinstance(node.target, python.Name):
            return node
        read = python.Name(node.target.id, python.Load())
        return python.Assign([node.target], _call(function, read, node.value))


def _call(function: str, *arguments: python.expr) -> python.expr:
    return python.Call(python.Name(function, python.Load()), list(arguments), [])


def _times(left: Any, right: Any) -> Any:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, str | bytes | list | tuple) and isinstance(other, int):
            check_size(len(one) * other, "a function")
    if _is_large(left) or _is_large(right):
        check_size(_elements(left) + _elements(right), "a function")
    return left * right


def _power(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int) and right > 0:
        check_size(left.bit_length() * right // _BITS_PER_ELEMENT, "a function")
    return left**right


def _shift(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int) and left and right > 0:
        check_size((left.bit_length() + right) // _BITS_PER_ELEMENT, "a function")
    return left << right


def _is_large(value: Any) -> bool:
    return isinstance(value, int) and not -_NUMBER_FROM < value < _NUMBER_FROM


def _elements(value: Any) -> int:
    return value.bit_length() // _BITS_PER_ELEMENT if isinstance(value, int) else 0


_SIZED: Final[dict[type[python.operator], Callable[[Any, Any], Any]]] = {
    python.Mult: _times,
    python.Pow: _power,
    python.LShift: _shift,
}
