"""The reference executor: in process, event at a time; the meaning of the language."""

from lockstep.execute.reference.executor import ReferenceExecutor

__all__ = ["ReferenceExecutor"]
