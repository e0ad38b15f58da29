"""A store in this process's memory: for unit tests and simulation; a shelf may be shared."""

from lockstep.store.memory.store import MemoryStore

__all__ = ["MemoryStore"]
