"""What an import does not read: entities, bombs, files that lead elsewhere; each says why."""

from __future__ import annotations

import io
import stat
import zipfile

import pytest

from lockstep.migration import Fate, Imported, SourceFile, archives, convert, reading
from tests.unit.migration import pizza_shop

ARTIFACTS = """<artifacts><artifact name="Shop" version="1.0.0" type="carbon/application">
  <dependency artifact="plan" version="1.0.0" include="true" serverRole="ComplexEventProcessor"/>
  <dependency artifact="orders" version="1.0.0" include="true" serverRole="ComplexEventProcessor"/>
</artifact></artifacts>"""


def artifact(name: str, file: str) -> str:
    """The artifact.xml of one."""
    return (
        f'<artifact name="{name}" version="1.0.0" type="event/x" serverRole="CEP">'
        f"<file>{file}</file></artifact>"
    )


SHOP = {
    "artifacts.xml": ARTIFACTS,
    "plan_1.0.0/artifact.xml": artifact("plan", "till.siddhiql"),
    "plan_1.0.0/till.siddhiql": pizza_shop.PLAN,
    "orders_1.0.0/artifact.xml": artifact("orders", "orders.json"),
    "orders_1.0.0/orders.json": pizza_shop.ORDERS,
    "orders_1.0.0/notes.txt": "not named",
}


def packed(members: dict[str, str | bytes], link: str = "") -> SourceFile:
    """An archive."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
        if link:
            info = zipfile.ZipInfo(link)
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, "/etc/passwd")
    return SourceFile("shop.car", data.getvalue())


def only_reason(done: Imported) -> str:
    """Why nothing came out."""
    assert done.apps == ()
    (finding,) = done.findings
    assert finding.fate is Fate.TO_DECIDE
    return finding.why


def test_an_archive_is_read_by_what_it_names() -> None:
    """The rest is reported."""
    done = convert([packed(dict(SHOP))])
    assert [(app.name, app.valid) for app in done.apps] == [("PizzaTill", True)]
    dropped = {str(one.place) for one in done.findings if one.fate is Fate.DROPPED}
    assert "shop.car!/orders_1.0.0/notes.txt:1" in dropped


@pytest.mark.parametrize(
    "name", ["../out.json", "a/../../out.json", "/etc/out.json", "..\\out.json"]
)
def test_a_path_out_of_the_archive_is_refused(name: str) -> None:
    """As a whole: somebody made it so."""
    assert "leads out of the archive" in only_reason(convert([packed({**SHOP, name: "{}"})]))


def test_a_link_in_an_archive_is_refused() -> None:
    """It may lead anywhere."""
    assert "is a link" in only_reason(convert([packed(dict(SHOP), link="plan_1.0.0/link")]))


def test_a_bomb_is_refused() -> None:
    """Before it is unpacked whole."""
    bomb = b" " * (4 * archives.MAX_RATIO * 1024)
    assert "times as large as packed" in only_reason(convert([packed({**SHOP, "b.json": bomb})]))


def test_too_many_files_are_refused() -> None:
    """There is a limit."""
    many = {f"f{number}": "" for number in range(archives.MAX_MEMBERS + 1)}
    assert "more than 2000 files" in only_reason(convert([packed(dict(many))]))


def test_archives_inside_archives_end() -> None:
    """There is a limit here, too."""
    inner = packed(dict(SHOP)).data
    for _ in range(archives.MAX_DEPTH):
        inner = packed(
            {
                "artifacts.xml": ARTIFACTS.replace("orders", "plan"),
                "plan_1.0.0/artifact.xml": artifact("plan", "inner.car"),
                "plan_1.0.0/inner.car": inner,
            }
        ).data
    assert "deep in one another" in only_reason(convert([SourceFile("shop.car", inner)]))


def test_no_archive_at_all() -> None:
    """Damaged, or a zip of something else."""
    assert "not a zip archive" in only_reason(convert([SourceFile("shop.car", b"PK\x03\x04no")]))
    assert "no artifacts.xml" in only_reason(convert([packed({"a.txt": ""})]))


DOCTYPE = '<!DOCTYPE eventReceiver [<!ENTITY a "aaaa">]>'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    "doctype",
    [DOCTYPE, '<!DOCTYPE eventReceiver SYSTEM "file:///etc/passwd">', "<!DOCTYPE eventReceiver>"],
)
def test_document_types_and_entities_are_refused(encoding: str, doctype: str) -> None:
    """In whatever encoding they come."""
    text = f"{doctype}<eventReceiver name='a'><from eventAdapterType='http'/></eventReceiver>"
    done = convert([SourceFile("r.xml", text.encode(encoding))])
    assert only_reason(done) == "a document type or an entity is refused"


def test_deep_and_large_and_broken_files_are_refused() -> None:
    """Each with its reason."""
    deep = "<a>" * (reading.MAX_XML_DEPTH + 1) + "</a>" * (reading.MAX_XML_DEPTH + 1)
    assert "deep" in only_reason(convert([SourceFile("r.xml", deep.encode())]))
    large = b" " * (reading.MAX_FILE_BYTES + 1) + b"{}"
    assert "bytes" in only_reason(convert([SourceFile("s.json", large)]))
    assert "nested too deep" in only_reason(convert([SourceFile("s.json", b"[" * 200_000)]))
    assert "not XML" in only_reason(convert([SourceFile("r.xml", b"<a><b></a>")]))
    assert "not JSON" in only_reason(convert([SourceFile("s.json", b'{"a": ')]))
    assert "no text in UTF-8" in only_reason(convert([SourceFile("p.siddhiql", b"\xff\xfe\x00")]))


def test_a_plan_that_cannot_be_read_stays_as_a_comment() -> None:
    """Nothing of it is lost."""
    text = "@Plan:name('P')\nfrom S select 'open\ninsert into O;"
    done = convert([SourceFile("p.siddhiql", text.encode())])
    found = [one for one in done.findings if "not closed" in one.why]
    assert [str(one.place) for one in found] == ["p.siddhiql:2"]
    assert all(f"-- {line}" in done.apps[0].text for line in text.splitlines())
    assert not done.apps[0].valid
