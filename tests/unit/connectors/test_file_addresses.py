"""Where files are: on this machine. What names another one is refused at deploy."""

from __future__ import annotations

import pytest

from lockstep.siddhiql import SiddhiQLError, check

SOURCE = "@source(type='file', {}, @map(type='json')) define stream S (v int);"
SINK = "@sink(type='file', {}, @map(type='json')) define stream S (v int);"
LISTENER = (
    "@source(type='fileeventlistener', {}, @map(type='keyvalue'))"
    " define stream S (filepath string, filename string, status string);"
)


@pytest.mark.parametrize("scheme", ["sftp", "FTP", "s3", "hdfs", "http"])
@pytest.mark.parametrize(
    ("text", "option", "more"),
    [
        (SOURCE, "dir.uri", ""),
        (SOURCE, "file.uri", ""),
        (SOURCE, "move.after.process", ", dir.uri='file:/in', action.after.process='move'"),
        (SINK, "file.uri", ""),
        (LISTENER, "dir.uri", ""),
    ],
)
def test_another_machine(scheme: str, text: str, option: str, more: str) -> None:
    """A folder of that name would be made here, and rows count as delivered."""
    address = f"{scheme}://user:word@host:22/out/{'{{v}}.txt' if text is SINK else 'in'}"
    with pytest.raises(SiddhiQLError, match=f"'{option}' begins with '{scheme}://'") as raised:
        check(text.format(f"{option}='{address}'{more}"))
    assert raised.value.hint is not None
    assert "mount" in raised.value.hint
    assert "word" not in str(raised.value)


@pytest.mark.parametrize("address", ["file:///in", "file:/in", "/in", "in/a:b", "${secret:place}"])
def test_this_machine(address: str) -> None:
    """With and without a scheme; a colon in a name is one."""
    check(SOURCE.format(f"dir.uri='{address}'"))
