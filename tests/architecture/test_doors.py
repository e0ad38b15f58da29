"""What only one place may do: read clocks, draw random numbers, swallow every error, unpickle."""

from __future__ import annotations

import ast

from lockstep.telemetry import METRICS
from tests.architecture.source import Module, dotted, product

_CLOCK = "libs/lockstep/clock/"
_FRAME = "libs/lockstep/frame/"

_MODULES_OF_CLOCK = {"random", "secrets"}
_CALLS_OF_CLOCK = {
    "time.time",
    "time.time_ns",
    "time.monotonic",
    "time.monotonic_ns",
    "time.perf_counter",
    "time.perf_counter_ns",
    "time.sleep",
    "datetime.now",
    "datetime.utcnow",
    "datetime.today",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "date.today",
    "datetime.date.today",
    "uuid.uuid1",
    "uuid.uuid4",
    "uuid4",
    "os.urandom",
    "np.random",
    "numpy.random",
}
_UNSAFE = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}


def _imports(module: Module) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found += [(f"{node.module}.{alias.name}", node.lineno) for alias in node.names]
    return found


def _outside(folder: str) -> list[Module]:
    return [module for module in product() if not module.path.startswith(folder)]


def test_only_the_clock_reads_time_and_randomness() -> None:
    """Everybody else is handed a Clock and a Randomness."""
    found: list[str] = []
    for module in _outside(_CLOCK):
        for name, line in _imports(module):
            if name.split(".")[0] in _MODULES_OF_CLOCK or name in _CALLS_OF_CLOCK:
                found.append(f"{module.path}:{line}: import of {name}")
        found += [
            f"{module.path}:{node.lineno}: {dotted(node)}"
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Attribute) and dotted(node) in _CALLS_OF_CLOCK
        ]
    assert not found, "\n".join(found)


def test_only_the_frame_catches_everything() -> None:
    """Below it, an error that nobody thought of is not handled by anybody."""
    found = [
        f"{module.path}:{node.lineno}"
        for module in _outside(_FRAME)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ExceptHandler) and _is_broad(node) and not _raises_again(node)
    ]
    assert not found, "\n".join(found)


def _is_broad(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(dotted(each) in {"Exception", "BaseException"} for each in types)


def _raises_again(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise)


def test_nothing_is_unpickled() -> None:
    """Bytes from a log, a store or a wire never become code."""
    found = [
        f"{module.path}:{line}: {name}"
        for module in product()
        for name, line in _imports(module)
        if name.split(".")[0] in _UNSAFE
    ]
    assert not found, "\n".join(found)


def test_types_are_found_out_about_in_one_place() -> None:
    """Two threads that ask msgspec for a type at once end the process (events/typed.py)."""
    found = [
        f"{module.path}:{node.lineno}: use lockstep.events.typed"
        for module in product()
        if not module.path.endswith("lockstep/events/typed.py")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and _asks_for_a_type(node)
    ]
    assert not found, "\n".join(found)


def _asks_for_a_type(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    if name == "msgspec.convert":
        return True
    is_decode = name in ("msgspec.json.decode", "msgspec.msgpack.decode")
    return is_decode and any(each.arg == "type" for each in call.keywords)


def test_the_environment_is_read_in_one_place() -> None:
    """LOCKSTEP_* variables reach the code as settings, not on side ways."""
    found = [
        f"{module.path}:{node.lineno}: {_environment_key(node)}"
        for module in product()
        if not module.path.startswith(("libs/lockstep/settings/", "libs/lockstep/cli/"))
        for node in ast.walk(module.tree)
        if isinstance(node, ast.expr) and _environment_key(node).startswith("LOCKSTEP_")
    ]
    assert not found, "\n".join(found)


def _environment_key(node: ast.AST) -> str:
    """The constant key of `os.environ[key]`, `os.environ.get(key)` or `os.getenv(key)`, or ""."""
    if isinstance(node, ast.Subscript) and dotted(node.value) == "os.environ":
        return _constant(node.slice)
    readers = {"os.environ.get", "os.getenv", "os.environ.pop"}
    if isinstance(node, ast.Call) and dotted(node.func) in readers and node.args:
        return _constant(node.args[0])
    return ""


def _constant(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_every_metric_that_is_used_is_declared() -> None:
    """A metric's name is written in one list before it is used anywhere."""
    found = [
        f"{module.path}:{node.lineno}: {_metric(node)}"
        for module in product()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.expr) and _metric(node) not in {"", *METRICS}
    ]
    assert not found, "\n".join(found)


def test_every_declared_metric_is_used() -> None:
    """What the list, the dashboards and the rules name is counted somewhere."""
    used = {
        _constant(node)
        for module in product()
        if module.path != "libs/lockstep/telemetry/names.py"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant)
        if _constant(node).startswith("lockstep_")
    }
    assert set(METRICS) <= used, sorted(set(METRICS) - used)


def _metric(node: ast.AST) -> str:
    """The constant metric name in a call of an instrument's verb, or ""."""
    verbs = {"count", "set", "observe", "forget", "value"}
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
        return ""
    name = _constant(node.args[0]) if node.func.attr in verbs else ""
    return name if name.startswith("lockstep_") else ""
