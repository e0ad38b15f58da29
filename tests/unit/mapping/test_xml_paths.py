"""Paths, leaves and empty values of XML sources, in rows and in columns (extensions 13.3)."""

from __future__ import annotations

import sys
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lockstep.events import Attribute, AttributeType, StreamSchema
from lockstep.mapping.contract import Reading
from lockstep.mapping.xml.columns import XmlColumns
from lockstep.mapping.xml.paths import XmlPath
from lockstep.mapping.xml.source import XmlSource
from lockstep.siddhiql import SiddhiQLError, ast
from tests.unit.mapping.mappers import attributes, rows, source

LENIENT = {"fail_on_missing_attribute": "false"}
ITSELF = {"enclosing_element_as_event": "true"}
SHOP = """<shop owner="Ann">
  <item id="1"><name>pen</name><price>2.5</price><part><name>cap</name></part></item>
  <item id="2"><price>3</price></item>
</shop>"""


def schema(**types: str) -> StreamSchema:
    """Of attributes by name and type."""
    made = (Attribute(name, AttributeType(type_)) for name, type_ in types.items())
    return StreamSchema("S", tuple(made))


def read(document: str, *nested: ast.Annotation, of: StreamSchema, **options: Any) -> Any:
    """The rows of the one chunk; in columns they are the same."""
    mapper = source("xml", *nested, schema=of, **options)
    assert isinstance(mapper, XmlSource)
    reading = mapper.read(document, 1)
    assert not reading.refused, reading.refused
    (chunk,) = rows(reading)
    found = XmlColumns(mapper).read(document, {})
    assert found is not None
    columns = [each if isinstance(each, list) else each.to_pylist() for each in found.values]
    assert list(zip(*columns, strict=True)) == chunk
    return chunk


def read_one(document: str, path: str, **options: Any) -> list[Any]:
    """What stands at one path, as texts, event by event; null where nothing does."""
    found = read(document, attributes(x=path), of=schema(x="string"), **LENIENT, **options)
    return [text for (text,) in found]


@pytest.mark.parametrize(
    ("path", "options", "expected"),
    [
        ("/shop/item/name", {}, ["pen"]),
        ("/shop/@owner", {}, ["Ann"]),
        ("/*/@owner", {}, ["Ann"]),
        ("//shop/@owner", {}, ["Ann"]),
        ("/item/name", {}, ["pen"]),
        ("/stock/name", {}, [None]),
        ("/item/name", {"enclosing_element": "/shop"}, ["pen", None]),
        ("/item/@id", {"enclosing_element": "/shop"}, ["1", "2"]),
        ("/item[@id='2']/price", {"enclosing_element": "/shop"}, [None, "3"]),
        ("//item/name", {"enclosing_element": "/shop"}, ["pen", None]),
        ("/item/price", {"enclosing_element": "//item", **ITSELF}, ["2.5", "3"]),
        ("/price", {"enclosing_element": "/shop"}, ["2.5", "3"]),
        ("/shop/@owner", {"enclosing_element": "/shop"}, ["Ann", "Ann"]),
        ("/item/price/text()", {"enclosing_element": "/shop"}, ["2.5", "3"]),
    ],
)
def test_paths_from_the_root(path: str, options: dict[str, Any], expected: list[Any]) -> None:
    """The first step is the event, or the root, or else below the event."""
    assert read_one(SHOP, path, **options) == expected


@pytest.mark.parametrize("is_columns", [False, True])
def test_a_document_is_searched_from_its_root_once_however_many_events_it_has(
    is_columns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a document that is twice as large would take four times as long. Another document is
    searched anew, and what stands nowhere is looked for once, too."""
    mapper = source(
        "xml",
        attributes(day="/shop/@day", owner="/shop/owner", none="/shop/none", name="name"),
        schema=schema(day="string", owner="string", none="string", name="string"),
        enclosing_element="/shop/items",
        **LENIENT,
    )
    assert isinstance(mapper, XmlSource)
    searched: list[str] = []
    below = XmlPath.below

    def counted(path: XmlPath, element: ElementTree.Element) -> list[ElementTree.Element]:
        searched.append(element.tag)
        return below(path, element)

    monkeypatch.setattr(XmlPath, "below", counted)
    for owner, events in (("Ann", 2), ("Bob", 40)):
        items = "<item><name>pen</name></item>" * events
        document = f"<shop day='1'><owner>{owner}</owner><items>{items}</items></shop>"
        if is_columns:
            found = XmlColumns(mapper).read(document, {})
            assert found is not None
            values = [each if isinstance(each, list) else each.to_pylist() for each in found.values]
            got = list(zip(*values, strict=True))
        else:
            (got,) = rows(mapper.read(document, 1))
        assert got == [("1", owner, None, "pen")] * events
    assert len(searched) == 2 * 4, "the events' element and three paths, of two documents"


def test_an_inner_element_of_the_name_of_the_event() -> None:
    """A path that begins with the event stays with it, even where nothing is found."""
    document = "<n><n><x>inner</x></n></n>"
    assert read_one(document, "/n/x") == [None]
    assert read_one(document, "/n/n/x") == ["inner"]


def test_a_path_from_the_root_with_namespaces() -> None:
    """A prefix in the first step is the document's namespace."""
    document = '<p:a xmlns:p="urn:x"><p:b>5</p:b></p:a>'
    assert read_one(document, "/q:a/q:b", namespaces="q=urn:x") == ["5"]
    assert read_one(document, "/a/b", namespaces="=urn:x") == ["5"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("item[@id='2']/@id", "2"),
        ("item[@id='2']/price", "3"),
        ("item[name='pen']/@id", "1"),
        ("item[2]/@id", "2"),
        ("item[last()]/@id", "2"),
        ("item[last() - 1]/@id", "1"),
        ("item[2][@id='2'][last()]/price", "3"),
        ("item[1]/part[1]/name[1]", "cap"),
        ("item[@id='[1]']/@id", None),
        ("item[ price = \"3\" ]/@id", "2"),
        ("item[@id='a/@b']/@id", None),
        ("*/part/name", "cap"),
        ("{*}item/price", "2.5"),
        (".//part/name", "cap"),
        ("item//name", "pen"),
        (".//@id", "1"),
        ("//@id", "1"),
        ("./@owner", "Ann"),
        ("@owner", "Ann"),
    ],
)  # fmt: skip
def test_paths_that_are_read(path: str, expected: Any) -> None:
    """Conditions in brackets may stand in front of an attribute."""
    assert read_one(SHOP, path) == [expected]


def test_places_where_names_have_a_namespace_by_default() -> None:
    """ElementTree takes the number for a name then."""
    document = '<a xmlns="urn:x"><b>1</b><b>2</b></a>'
    assert read_one(document, "b[1]", namespaces="=urn:x") == ["1"]
    assert read_one(document, "b[last()]", namespaces="=urn:x") == ["2"]


TAGS = st.sampled_from(["a", "b", "{u}a", "{v[1]}a"])
STEPS = ["a", "b", "*", "p:a", "{v[1]}a", "{*}a"]
CONDITIONS = [
    "[1]", "[2]", "[ 3 ]", "[last()]", "[last()-1]", "[ last() -2]", "[@x]", "[@x='[1]']",
    '[@x != "[1]"]', "[b]", "[p:a='t']", "[.='t']",
]  # fmt: skip


@st.composite
def elements(draw: st.DrawFn, depth: int = 2) -> ElementTree.Element:
    """One with a few others in it, many of them of one name."""
    attributes = draw(st.sampled_from([{}, {"x": "[1]"}, {"x": "2"}]))
    element = ElementTree.Element(draw(TAGS), attributes)
    if depth:
        element.extend(draw(st.lists(elements(depth - 1), max_size=4)))
    element.text = draw(st.sampled_from(["", "t"]))
    return element


@st.composite
def drawn_paths(draw: st.DrawFn) -> str:
    """Of a few steps, each with a few conditions."""
    path = draw(st.sampled_from(["", "./", ".//"]))
    for number in range(draw(st.integers(1, 3))):
        path += draw(st.sampled_from(["/", "//"])) if number else ""
        path += draw(st.sampled_from(STEPS))
        path += "".join(draw(st.lists(st.sampled_from(CONDITIONS), max_size=3)))
    return path


@example(ElementTree.XML('<r xmlns="v[1]"><a/><a/></r>'), "{v[1]}a")
@given(elements(), drawn_paths())
@settings(max_examples=200, deadline=None)
def test_a_path_leads_where_elementtree_says(element: ElementTree.Element, path: str) -> None:
    """To the same elements in the same order, and as often to each."""
    found = XmlPath(path, {"p": "u"}).below(element)
    expected = element.findall(path, {"p": "u"})
    assert [id(one) for one in found] == [id(one) for one in expected]


@pytest.mark.parametrize("path", ["a[1]", "a[last()]", "a[2]/@x", "//a[2][1]", "./a[@x][3]"])
def test_siblings_are_not_searched_for_each_of_them(path: str) -> None:
    """Else a document that is twice as large would take four times as long."""
    searched: list[str] = []

    class Counted(ElementTree.Element):
        """An element that tells when it is searched."""

        def findall(self, path: str, namespaces: Any = None) -> Any:
            """As without counting."""
            searched.append(path)
            return super().findall(path, namespaces)

    def searches(siblings: int) -> int:
        searched.clear()
        parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(Counted))
        document = "<a x='1'/>" * siblings
        XmlPath(path, {}).below(ElementTree.XML(f"<r>{document}</r>", parser))
        return len(searched)

    assert searches(200) == searches(20) > 0


def test_names_in_all_letters() -> None:
    """Marks of vowels are no letters for Python, but may stand in names of XML."""
    assert read_one("<a><नाम>x</नाम></a>", "नाम") == ["x"]
    assert read_one('<a><b-c.d é="x"/></a>', "b-c.d/@é") == ["x"]


@pytest.mark.parametrize(
    "path",
    [
        "12", "//12", "a/12", "-a", "a|b", "/p|/q", "../@id", "a/../b", "string(a)", "a/count(b)",
        "child::a", "attribute::a", "@*", "@v[1]", "@a/b", "a///b", "//", "///", "a b", "a[b|c]",
        "*[local-name()='x']", "a[position()=2]", "a[0]", "a[", "a]", "p:a", "@p:a", "a//text()",
        "text()/a", "$.a", "a=5",
    ],
)  # fmt: skip
def test_paths_that_are_refused(path: str) -> None:
    """What cannot lead anywhere, and what is not read of XPath; the hint says what is."""
    for enclosing, inner in (("a", path), (path, "a")):
        with pytest.raises(SiddhiQLError, match="is no path") as caught:
            source("xml", attributes(x=inner), schema=schema(x="int"), enclosing_element=enclosing)
        assert "x[@id='2']" in str(caught.value.hint)


def test_the_event_by_its_own_name() -> None:
    """Where it has no elements in it, and nothing of that name is below it."""
    document = "<m><data>1</data><data>2</data><data><data>3</data></data></m>"
    of = schema(data="int")
    found = read(document, attributes(data="data"), of=of, enclosing_element="//data", **ITSELF)
    assert found == [(1,), (2,), (3,), (3,)]
    assert read_one("<m><x/></m>", "x", enclosing_element="m") == [None]
    assert read_one("<m><x><y/></x></m>", "x", enclosing_element="//x", **ITSELF) == [None]


EMPTY = "<events><event><s></s><i></i><d> \n</d><b/></event>{}</events>"
FULL = "<event><s>x</s><i>5</i><d>2.5</d><b>true</b></event>"
TYPES = schema(s="string", i="int", d="double", b="bool")


@pytest.mark.parametrize("more", ["", FULL, "<event><b>true</b><s>x</s><i>5</i><d>2.5</d></event>"])
def test_empty_values_are_null_where_values_may_be_missing(more: str) -> None:
    """Numbers and bools; a text is empty. With other events of that form and without."""
    found = read(EMPTY.format(more), of=TYPES, **LENIENT)
    assert found == [("", None, None, None), *([("x", 5, 2.5, True)] if more else [])]
    plain = EMPTY.format("").replace("<b/>", "<b></b>")
    assert read(plain, of=TYPES, **LENIENT) == [("", None, None, None)]
    assert read('<a i=""/>', attributes(i="@i"), of=schema(i="int"), **LENIENT) == [(None,)]


def test_bad_values_are_refused_and_so_are_empty_ones_that_must_not_be_missing() -> None:
    """A text that is no number is never lost."""

    def refused(document: str, **options: Any) -> list[str | None]:
        reading: Reading = source("xml", schema=TYPES, **options).read(document, 1)
        return [one.where for one in reading.refused]

    assert refused(EMPTY.format("")) == ["i"]
    assert refused(EMPTY.format(FULL.replace("5", "abc", 1)), **LENIENT) == ["i"]


@pytest.mark.parametrize("nil", ["true", "1", " true "])
def test_forms_of_nil(nil: str) -> None:
    """Either of XML Schema's true."""
    space = "http://www.w3.org/2001/XMLSchema-instance"
    document = f'<events xmlns:i="{space}"><event><x i:nil="{nil}"/></event></events>'
    assert read(document, of=schema(x="int")) == [(None,)]


LEAVES_ONLY = {"extract_leaf_node_data": "true"}
LEAVES = {**LEAVES_ONLY, **LENIENT}
ORDERS = """<orders>
  <order no="1"><name> pen </name><price>2.5</price>
    <part><colour>red</colour></part><part><colour>blue</colour></part><when>noon</when></order>
  <order no="2"><name>cup</name><price>3</price></order>
</orders>"""


def test_leaves() -> None:
    """An event for each group of leaves, with what stands around it, as in Siddhi."""
    found = read(
        ORDERS,
        attributes(n="/order/@no", p="/order/price", c="/order/part/colour", w="/order/when"),
        of=schema(n="string", p="double", c="string", w="string"),
        enclosing_element="/orders",
        **LEAVES,
    )
    assert found == [
        ("1", 2.5, "red", "noon"), ("1", 2.5, "blue", "noon"), ("2", 3.0, None, None)
    ]  # fmt: skip
    assert read_one(ORDERS, "name", enclosing_element="orders", **LEAVES_ONLY) == [
        "pen", "pen", "cup"
    ]  # fmt: skip
    assert read_one(ORDERS, "/other/name", enclosing_element="orders", **LEAVES_ONLY) == [None] * 3


def test_leaves_of_attributes_in_a_stream() -> None:
    """The enclosing elements are the events, and each is a leaf unless it has others."""
    document = """<p:root xmlns:p="urn:x"><other/><p:child id="1"/>
      <p:child id="2"><p:detail key="a"/><p:more><p:detail key="b"/></p:more><p:detail/></p:child>
    </p:root>"""
    found = read(
        document,
        attributes(i="/child/@id", k="/child/detail/@key"),
        of=schema(i="int", k="string"),
        enclosing_element="/p:root/p:child",
        namespaces="p=urn:x",
        enable_streaming_xml_content="true",
        **LEAVES,
    )
    assert found == [(1, None), (2, "a"), (2, None), (2, None)]


@pytest.mark.parametrize("path", ["//a", "/order", ".", "/order/a[1]", "a/*", "/p:order/p:a"])
def test_paths_that_leaves_have_not(path: str) -> None:
    """They could not lead anywhere."""
    with pytest.raises(SiddhiQLError, match=r"extract\.leaf\.node\.data"):
        source(
            "xml",
            attributes(x=path),
            schema=schema(x="int"),
            namespaces="p=urn:x",
            **LEAVES,
        )


def test_leaves_that_are_missing_or_too_deep() -> None:
    """What may not be missing refuses its event alone; depth refuses the message."""
    of = schema(c="string")
    mapper = source(
        "xml", attributes(c="/order/part/colour"), schema=of, enclosing_element="orders",
        **LEAVES_ONLY,
    )  # fmt: skip
    reading = mapper.read(ORDERS, 1)
    assert rows(reading) == [[("red",), ("blue",)]]
    assert [one.where for one in reading.refused] == ["c"]
    depth = sys.getrecursionlimit()
    deep = mapper.read(f"<orders>{'<a>' * depth}{'</a>' * depth}</orders>", 1)
    assert [one.message for one in deep.refused] == ["it is nested too deep"]


def test_leaves_need_paths_of_their_own() -> None:
    """Without any the option has no effect, as in Siddhi."""
    of = schema(x="string")
    assert read("<events><event><x>5</x></event></events>", of=of, **LEAVES) == [("5",)]
