"""The plan: a checked app as ordered nodes with what they read and write, rewritten where that is
exact.
"""

from lockstep.plan.build import build
from lockstep.plan.explain import explain_plan, steps_of
from lockstep.plan.nodes import AppPlan, PartitionNode, PlanNode, QueryNode
from lockstep.plan.plans import Plans, plan_of, plan_of_deployed

__all__ = [
    "AppPlan",
    "PartitionNode",
    "PlanNode",
    "Plans",
    "QueryNode",
    "build",
    "explain_plan",
    "plan_of",
    "plan_of_deployed",
    "steps_of",
]
