"""The compiled machine of functions in JavaScript is kept for the processes that follow."""

from __future__ import annotations

from pathlib import Path

import pytest
import wasmtime

from lockstep.functions.javascript_engine import module_of

CODE = bytes(wasmtime.wat2wasm('(module (func (export "seven") (result i32) i32.const 7))'))


def _answer(engine: wasmtime.Engine, module: wasmtime.Module) -> object:
    """What its function gives."""
    store = wasmtime.Store(engine)
    seven = wasmtime.Instance(store, module, []).exports(store)["seven"]
    assert isinstance(seven, wasmtime.Func)
    return seven(store)


def test_what_is_kept_is_read_and_not_compiled(tmp_path: Path) -> None:
    """The second one has no code to compile."""
    kept, engine = tmp_path / "made" / "seven", wasmtime.Engine()
    assert _answer(engine, module_of(engine, CODE, kept)) == 7
    assert [one.name for one in kept.parent.iterdir()] == ["seven"]
    with pytest.raises(wasmtime.WasmtimeError):
        wasmtime.Module(engine, b"no code")
    assert _answer(engine, module_of(engine, b"no code", kept)) == 7


@pytest.mark.parametrize("left", [b"", b"garbage"])
def test_what_cannot_be_read_is_compiled_anew(tmp_path: Path, left: bytes) -> None:
    """And is whole then."""
    kept, engine = tmp_path / "seven", wasmtime.Engine()
    kept.write_bytes(left)
    assert _answer(engine, module_of(engine, CODE, kept)) == 7
    assert _answer(engine, module_of(engine, b"no code", kept)) == 7


def test_what_has_other_settings_is_compiled_anew(tmp_path: Path) -> None:
    """As after an upgrade that counts steps otherwise."""
    kept = tmp_path / "seven"
    module_of(wasmtime.Engine(), CODE, kept)
    config = wasmtime.Config()
    config.consume_fuel = True
    engine = wasmtime.Engine(config)
    found = module_of(engine, CODE, kept)
    store = wasmtime.Store(engine)
    store.set_fuel(1_000)
    assert "seven" in wasmtime.Instance(store, found, []).exports(store)


def test_a_folder_that_nobody_may_write_keeps_nothing(tmp_path: Path) -> None:
    """It is compiled each time then."""
    (tmp_path / "file").write_bytes(b"")
    engine = wasmtime.Engine()
    module = module_of(engine, CODE, tmp_path / "file" / "seven")
    assert _answer(engine, module) == 7
