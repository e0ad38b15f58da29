"""For processes that run the quick tests side by side: each takes the next file that no other one
has claimed, reads it and runs its tests. Unlike pytest-xdist, no process reads all files, and none
deals out tests and collects results. See scripts/unit."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

GOLDENS = "test_goldens.py"
"""The file whose tests are claimed topic by topic."""

FIRST = "test_garbage.py"
"""Files of this name go through all objects of the process: they come while there are few."""

UNREAD = pytest.StashKey[list[pytest.Module]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where claims are."""
    parser.addoption("--claims", type=Path, required=True, help="folder where processes claim")


def pytest_configure(config: pytest.Config) -> None:
    """Nothing is claimed yet."""
    config.stash[UNREAD] = []


@pytest.hookimpl(tryfirst=True)
def pytest_make_collect_report(collector: pytest.Collector) -> pytest.CollectReport | None:
    """Files are found, and read only when they are claimed."""
    unread = collector.config.stash[UNREAD]
    if not isinstance(collector, pytest.Module) or collector in unread:
        return None
    unread.append(collector)
    return pytest.CollectReport(collector.nodeid, "passed", None, [])


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Nothing is shown of a test that passes: a dot for each takes a sixth of what pytest does."""
    passes = report.when == "call" and report.passed and not hasattr(report, "wasxfail")
    return ("passed", "", "") if passes else None


def pytest_runtestloop(session: pytest.Session) -> bool:
    """Runs what this process claims."""
    following = claimed(session)
    item = next(following, None)
    while item is not None:
        coming = next(following, None)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=coming)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        item = coming
    return True


def claimed(session: pytest.Session) -> Iterator[pytest.Item]:
    """The tests of the files, and of the topics of the goldens, that no other process has claimed.
    Each is claimed when its first test is asked for. Behind FIRST the largest files come first, so
    that none that takes long is left at the end."""
    folder: Path = session.config.getoption("claims")
    shown = session.config.get_terminal_writer()
    modules = session.config.stash[UNREAD]
    ours: set[str] = set()
    for module in sorted(modules, key=_place):
        is_shared = module.path.name == GOLDENS
        if not is_shared and not claim(folder, module.nodeid):
            continue
        shown.write(".", flush=True)
        for item in read(session, module):
            group = next(item.iter_markers("xdist_group")).args[0]
            if is_shared and group not in ours:
                if not claim(folder, group):
                    continue
                ours.add(group)
            yield item


def _place(module: pytest.Module) -> tuple[bool, int, str]:
    return module.path.name != FIRST, -module.path.stat().st_size, module.nodeid


def read(session: pytest.Session, module: pytest.Module) -> list[pytest.Item]:
    """The tests of a file that are to run."""
    gc.disable()
    items = list(session.genitems(module))
    session.config.hook.pytest_collection_modifyitems(
        session=session, config=session.config, items=items
    )
    session.testscollected += len(items)
    # What has been read stays: nothing looks for garbage in it.
    gc.freeze()
    gc.enable()
    return items


def claim(folder: Path, what: str) -> bool:
    """Whether this process is the first to ask for it."""
    try:
        (folder / hashlib.sha256(what.encode()).hexdigest()).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
