"""A store in a folder: for one machine. Writes are atomic and on disk when they return."""

from lockstep.store.filesystem.store import FileStore

__all__ = ["FileStore"]
