"""How Spark executes an app, query by query: in columns and by which rule, or why not."""

from __future__ import annotations

from lockstep.execute.columnar import lowering_of
from lockstep.plan import AppPlan


def explain(plan: AppPlan) -> str:
    """One line per query, and one about the whole: readable, stable for equal plans.

    An app runs in columns when all its queries have a columnar form; else its queries run on the
    reference operators in the Spark worker, and the lines tell which of them stand in the way.
    """
    lowering = lowering_of(plan)
    if lowering.is_columnar:
        lines = ["in columns, one Spark job per slice"]
    else:
        lines = ["on the reference operators in a Spark worker, one Spark job per slice"]
        lines += [f"  because {reason}" for reason in lowering.reasons]
    for choice in lowering.choices:
        if choice.rule is None:
            lines.append(f"  {choice.query}: reference operator, {choice.reason}")
        elif lowering.is_columnar:
            lines.append(f"  {choice.query}: {choice.rule}")
        else:
            lines.append(f"  {choice.query}: reference operator (alone it would be: {choice.rule})")
    return "\n".join(lines)
