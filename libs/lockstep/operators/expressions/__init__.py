"""Expressions as fast Python functions, generated from the syntax tree and a scope.

A pattern state's own filter (`scope.preferred` is its slot) reads the candidate event: the slot's
event, or the last one of the slot's list; there `e[last]` is the one collected before it (semantics
12.3).
"""

from lockstep.operators.expressions.compiler import (
    CompiledRow,
    compile_condition,
    compile_expression,
    compile_key,
    compile_output_condition,
    compile_output_value,
    compile_row,
    compile_running_condition,
    compile_selection,
)

__all__ = [
    "CompiledRow",
    "compile_condition",
    "compile_expression",
    "compile_key",
    "compile_output_condition",
    "compile_output_value",
    "compile_row",
    "compile_running_condition",
    "compile_selection",
]
