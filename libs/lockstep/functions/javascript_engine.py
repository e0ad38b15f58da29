"""QuickJS, compiled to WebAssembly, in a machine that counts its instructions.

A machine runs one program's start and keeps the memory that this leaves. Each call begins with that
memory, so nothing passes from a call to the next, and the same call takes the same instructions on
every machine, whatever ran before. Its imports are all here: a clock that stands still, bytes of
chance that are all 0, no files, no network. Instructions, memory and the depth of calls have limits
(limits.function_steps, limits.function_bytes, STACK_BYTES); no time is measured.

Depth ends at the stack in the machine's own memory, which is the same everywhere. The stack of the
process is large enough that it does not end first, except in texts of thousands of brackets.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import struct
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final, cast

import wasmtime

from lockstep.operators.limits import LimitError, limits

FUEL_PER_STEP: Final = 2_000
"""Instructions of WebAssembly that a step may take: a turn of a loop, a call. An empty turn takes
about a thousand."""

STACK_BYTES: Final = 128 * 1024
"""Of the machine's own stack: some 700 calls within calls."""

_NATIVE_STACK_BYTES: Final = 1_408 * 1024
"""Of the process's stack, which a thread has 2 MiB of at least."""

FUEL_PER_BYTE: Final = 400
"""Instructions that each byte of a call may take besides: reading arguments is not a step."""

_GROWTH_BYTES: Final = 4 * 1024 * 1024
"""Of address space, kept free behind a machine's memory: it moves when it grows over that."""

_START_FUEL: Final = 20_000_000_000
_ROOM_BYTES: Final = 16 * 1024
_WORD: Final = struct.Struct("<i")
_BAD_FILE: Final = 8
_GUEST: Final = ("quickjs_rs", "_guest.wasm")
_STACK_END: Final = 1 << 20
"""What is in memory below is the machine's stack: nothing of it outlives a call."""


class ProgramRefusedError(Exception):
    """A program that could not be started, and what the machine says of it."""


class Machine:
    """One program, to be called again and again."""

    def __init__(self, program: str) -> None:
        """Runs the program's start, which ends with the text 'made'. ProgramRefusedError."""
        self._live: _Instance | None = _Instance(None)
        self._live.store.set_fuel(_START_FUEL)
        said = self._live.evaluate(program.encode())
        if said != "made":
            raise ProgramRefusedError(said)
        self._image = self._live.keep()

    def call(self, expression: str) -> str:
        """The text that the expression gives. LimitError."""
        live = self._live or _Instance(self._image)
        self._live = None  # until it is known that it can be used again
        source = expression.encode()
        steps = limits().function_steps
        live.store.set_fuel(steps * FUEL_PER_STEP + len(source) * FUEL_PER_BYTE)
        try:
            told = live.evaluate(source)
        except wasmtime.Trap as trap:
            raise _limit(trap) from trap
        if live.restore(self._image):
            self._live = live
        return told


class _Image:
    """What a machine's memory holds between calls."""

    def __init__(self, heap: bytes, room: int) -> None:
        self.heap = heap
        self.room = room
        self.pages = (_STACK_END + len(heap)) >> 16


class _Instance:
    """A machine that lives."""

    def __init__(self, image: _Image | None) -> None:
        engine, module, linker = _compiled()
        self.store = wasmtime.Store(engine)
        self.store.set_limits(memory_size=limits().function_bytes)
        self.store.set_fuel(_START_FUEL)
        self._exports = linker.instantiate(self.store, module).exports(self.store)
        self._memory = cast(wasmtime.Memory, self._exports["memory"])
        stack = cast(wasmtime.Global, self._exports["__stack_pointer"])
        self._evaluate = self._function("eval_code")
        self._get_text = self._function("get_string")
        self._text_at, self._text_bytes = map(self._function, ("qjs_last_ptr", "qjs_last_len"))
        stack.set_value(self.store, STACK_BYTES)
        if image is None:
            self._room = self._allocated(_ROOM_BYTES)
        else:
            self._room = image.room
            missing = image.pages - self._memory.size(self.store)
            if missing > 0:
                self._memory.grow(self.store, missing)
            self.restore(image)

    def evaluate(self, source: bytes) -> str:
        """What an expression gives, a text; of another value or an error, what the machine says."""
        at = self._room + 8
        if len(source) > _ROOM_BYTES - 8:
            at = self._allocated(len(source))
        self._memory.write(self.store, source, at)
        status = self._evaluate(self.store, at, len(source), self._room)
        if status != 0:
            return self._error()
        return self._text(self._word(self._room))

    def keep(self) -> _Image:
        """Its memory as it is now, to begin again from."""
        return _Image(bytes(self._memory.read(self.store, _STACK_END)), self._room)

    def restore(self, image: _Image) -> bool:
        """Begins again; whether it could: what has grown cannot be made smaller."""
        if self._memory.size(self.store) != image.pages:
            return False
        base = ctypes.addressof(self._memory.data_ptr(self.store).contents)
        ctypes.memmove(base + _STACK_END, image.heap, len(image.heap))
        return True

    def _error(self) -> str:
        if self._function("last_exception")(self.store, self._room) != 0:
            return "no error was told"
        error = self._word(self._room)
        told = [self._property(error, name) for name in ("name", "message")]
        return "!" + ": ".join(told)

    def _property(self, handle: int, name: str) -> str:
        self._memory.write(self.store, name.encode(), self._room + 8)
        get = self._function("get_prop")
        if get(self.store, handle, self._room + 8, len(name), self._room) != 0:
            return ""
        return self._text(self._word(self._room))

    def _text(self, handle: int) -> str:
        if self._get_text(self.store, handle) != 0:
            return ""
        start, size = self._text_at(self.store), self._text_bytes(self.store)
        return bytes(self._memory.read(self.store, start, start + size)).decode()

    def _word(self, at: int) -> int:
        (found,) = _WORD.unpack(self._memory.read(self.store, at, at + _WORD.size))
        return int(found)

    def _allocated(self, size: int) -> int:
        at = self._function("qjs_alloc")(self.store, size)
        if at == 0:
            raise _out_of_memory()
        return int(at)

    def _function(self, name: str) -> wasmtime.Func:
        return cast(wasmtime.Func, self._exports[name])


@cache
def _compiled() -> tuple[wasmtime.Engine, wasmtime.Module, wasmtime.Linker]:
    """The machine, once for a process."""
    config = wasmtime.Config()
    config.consume_fuel = True
    config.cranelift_nan_canonicalization = True
    config.wasm_relaxed_simd_deterministic = True
    config.max_wasm_stack = _NATIVE_STACK_BYTES
    config.cranelift_opt_level = "none"  # QuickJS is optimised already
    config.parallel_compilation = False  # no threads are left behind, so a process can be forked
    config.signals_based_traps = False  # the process's signals stay its own
    config.memory_reservation = 0  # address space is limited in some processes
    config.memory_reservation_for_growth = _GROWTH_BYTES
    config.memory_guard_size = 0
    config.memory_may_move = True
    engine = wasmtime.Engine(config)
    package, name = _GUEST
    code = resources.files(package).joinpath(name).read_bytes()
    digest = hashlib.sha256(code).hexdigest()[:16]
    module = module_of(engine, code, Path(__file__).parent / "__pycache__" / f"quickjs-{digest}")
    linker = wasmtime.Linker(engine)
    for wanted in module.imports:
        kind = cast(wasmtime.FuncType, wanted.type)
        given = _IMPORTS.get(wanted.name or "", _refuse if kind.results else _nothing)
        linker.define_func(wanted.module, wanted.name or "", kind, given, access_caller=True)
    return engine, module, linker


def module_of(engine: wasmtime.Engine, code: bytes, kept: Path) -> wasmtime.Module:
    """The compiled code that a former process kept, among the compiled modules, whose owners are as
    much to be trusted. Wasmtime refuses what another version left, or other settings. Else it is
    compiled, which takes more than a second, and kept where that is possible."""
    with contextlib.suppress(wasmtime.WasmtimeError):
        return wasmtime.Module.deserialize_file(engine, str(kept))
    module = wasmtime.Module(engine, code)
    written = kept.with_suffix(f".{os.getpid()}")  # nobody reads half a file
    with contextlib.suppress(OSError):
        kept.parent.mkdir(exist_ok=True)
        written.write_bytes(module.serialize())
        written.replace(kept)
    return module


def _zeros(caller: wasmtime.Caller, at: int, size: int) -> int:
    memory = cast(wasmtime.Memory, caller["memory"])
    memory.write(caller, bytes(size), at)
    return 0


def _clock(caller: wasmtime.Caller, _kind: int, _precision: int, at: int) -> int:
    return _zeros(caller, at, 8)


def _no_environment(caller: wasmtime.Caller, count_at: int, bytes_at: int) -> int:
    return _zeros(caller, count_at, 4) or _zeros(caller, bytes_at, 4)


def _go_on(*_: Any) -> int:
    return 0


def _refuse(*_: Any) -> int:
    return _BAD_FILE


def _nothing(*_: Any) -> None:
    return None


_IMPORTS: Final = {
    "clock_time_get": _clock,
    "environ_get": _go_on,
    "environ_sizes_get": _no_environment,
    "host_call": lambda *_: -1,
    "host_interrupt": _go_on,
    "host_module_load": _go_on,
    "host_module_normalize": _go_on,
    "random_get": _zeros,
}


def _limit(trap: wasmtime.Trap) -> LimitError:
    if trap.trap_code == wasmtime.TrapCode.OUT_OF_FUEL:
        most = limits().function_steps
        return LimitError(f"a function takes more than {most} steps (limits.function_steps)")
    if trap.trap_code == wasmtime.TrapCode.UNREACHABLE:
        return _out_of_memory()
    return LimitError(f"calls of a function nest too deep (its stack has {STACK_BYTES} bytes)")


def _out_of_memory() -> LimitError:
    most = limits().function_bytes
    return LimitError(f"a function takes more than {most} bytes (limits.function_bytes)")
