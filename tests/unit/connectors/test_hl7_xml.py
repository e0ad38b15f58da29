"""HL7 in XML: names of elements, groups, escapes, and the way back (extensions 12.18)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest
from hl7apy.consts import VALIDATION_LEVEL
from hl7apy.parser import parse_message
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.connectors.hl7.er7 import Escape, Separators
from lockstep.connectors.hl7.structures import version_of
from lockstep.connectors.hl7.v2xml import from_xml, is_xml, to_xml

NS = {"v2": "urn:hl7-org:v2xml"}
USUAL = Separators("|", "^~\\&")

BILL = (
    "MSH|^~\\&|ADMISSION|ADT1|RADIOLOGY|MIR1|19930502184808||BAR^P01|589888|P|2.3\r"
    "EVN|P01|19930502184802\r"
    'PID|||42^1^M10~~77^2|33|WASHINGTON-HARPER^VOLA^K||19541218|F||B|2146 E HARRIS^""\r'
)
RESULT = (
    "MSH|^~\\&|LAB|1|R|2|20200101||ORU^R01|X1|P|2.5\r"
    "PID|1||1^^^H&x||D\\T\\E^J\r"
    "OBR|1|||88304\r"
    "OBX|1|CE|88304^A||T5^GALL\\.br\\X^SNM||||||F\r"
    "NTE|1||of the first\r"
    "OBX|2|TX|8^B||Smith & Sons ^ Co\r"
    "OBR|2|||9\r"
    "NTE|1||of the order\r"
    "OBX|1|NM|1^C||5.5\r"
)
ORDER = (
    "MSH|^~\\&|A|B|C|D|20200101||ORM^O01^ORM_O01|7|P|2.5\rPID|||1\rPV1||I\rORC|NW|1\r"
    "RXO|1\rNTE|1||a\rDG1|1\rORC|NW|2\rOBR|1\rOBX|1\rOBX|2\r"
)
LAB = (
    "MSH|^~\\&|A|B|C|D|20200101||OML^O21^OML_O21|7|P|2.5\rPID|||1\rORC|NW\rOBR|1\rTCD|x\rOBX|1|NM|1\r"
    "SPM|1\rOBX|1|NM|2\rORC|NW\rOBR|2\r"
)


def document(message: str) -> ElementTree.Element:
    """A message in XML, as somebody else's reader sees it."""
    return ElementTree.fromstring(to_xml(message.encode()))


def text(message: str, path: str) -> str | None:
    """What stands at a path of the names without their namespace."""
    return document(message).findtext("/".join(f"v2:{step}" for step in path.split("/")), None, NS)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("MSH/MSH.1", "|"),
        ("MSH/MSH.2", "^~\\&"),
        ("MSH/MSH.3/HD.1", "ADMISSION"),
        ("MSH/MSH.7/TS.1", "19930502184808"),
        ("MSH/MSH.9/CM_MSG.1", "BAR"),
        ("MSH/MSH.9/CM_MSG.2", "P01"),
        ("MSH/MSH.10", "589888"),
        ("MSH/MSH.11/PT.1", "P"),
        ("MSH/MSH.12", "2.3"),
        ("EVN/EVN.2/TS.1", "19930502184802"),
        ("PID/PID.3/CX.3", "M10"),
        ("PID/PID.5/XPN.1", "WASHINGTON-HARPER"),
        ("PID/PID.11/XAD.2", '""'),
        ("PID/PID.8", "F"),
    ],
)
def test_the_names_that_apps_of_the_older_product_map(path: str, value: str) -> None:
    """Segments, fields by number, components by the name of their type."""
    assert text(BILL, path) == value
    assert document(BILL).tag == "{urn:hl7-org:v2xml}BAR_P01"


def test_values_within_and_beyond_their_types() -> None:
    """Subcomponents, an observation by the type it names, escapes, plain texts with marks."""
    observed = "ORU_R01.PATIENT_RESULT/ORU_R01.ORDER_OBSERVATION/ORU_R01.OBSERVATION/OBX"
    patient = "ORU_R01.PATIENT_RESULT/ORU_R01.PATIENT/PID"
    assert text(RESULT, f"{patient}/PID.3/CX.4/HD.2") == "x"
    assert text(RESULT, f"{patient}/PID.5/XPN.1/FN.1") == "D&E"
    assert text(RESULT, f"{observed}/OBX.5/CE.1") == "T5"
    values = document(RESULT).findall(".//v2:OBX.5", NS)
    assert [each.text for each in values] == [None, "Smith & Sons ^ Co", "5.5"]
    broken = document(RESULT).find(".//v2:OBX.5/v2:CE.2", NS)
    assert broken is not None
    (escape,) = broken
    assert (broken.text, escape.get("V"), escape.tail) == ("GALL", ".br", "X")


def groups(element: ElementTree.Element, around: str = "") -> Iterator[tuple[str, str]]:
    """(the groups around it, the segment) of each segment in order."""
    for each in element:
        name = each.tag.partition("}")[2]
        if "." in name:
            yield from groups(each, f"{around}/{name.partition('.')[2]}")
        else:
            yield around, name


@pytest.mark.parametrize("message", [BILL, RESULT, ORDER, LAB])
def test_groups_are_those_that_another_reader_finds(message: str) -> None:
    """The tree of hl7apy's own reader; a choice is no group."""

    def of(element: object, around: str = "") -> Iterator[tuple[str, str]]:
        for each in element.children:  # type: ignore[attr-defined]
            if each.classname == "Segment":
                yield around, each.name
            else:
                name = "_".join(each.name.split("_")[2:])
                is_choice = name == "OBRRQDRQ1RXOODSODT_SUPPGRP"
                yield from of(each, around if is_choice else f"{around}/{name}")

    other = parse_message(message, VALIDATION_LEVEL.TOLERANT, find_groups=True)
    assert list(groups(document(message))) == list(of(other))


def test_what_no_structure_knows_is_there_even_so() -> None:
    """Segments of one's own, events without a structure, fields and components beyond the last."""
    message = BILL + "ZZZ|1|a&b^c~d\r"
    assert text(message, "ZZZ/ZZZ.2/ZZZ.2.1/ZZZ.2.1.2") == "b"
    assert [each.text for each in document(message).findall("v2:ZZZ/v2:ZZZ.2", NS)][1] == "d"
    strange = "MSH|^~\\&|A^B^C^D||||||XYZ^Q99|1|P|2.3\rPID|||1\rEVN|A01\r"
    assert document(strange).tag == "{urn:hl7-org:v2xml}XYZ_Q99"
    assert text(strange, "MSH/MSH.3/HD.4") == "D"
    assert list(groups(document(strange))) == [("", "MSH"), ("", "PID"), ("", "EVN")]
    assert document(BILL.replace("BAR^P01", "ADT^A08")).tag == "{urn:hl7-org:v2xml}ADT_A01"


@pytest.mark.parametrize("message", [BILL, RESULT, ORDER, LAB])
def test_the_way_back(message: str) -> None:
    """A message is what it was."""
    plain = message.replace("Smith & Sons ^ Co", "Smith")
    assert from_xml(to_xml(plain.encode())).decode() == plain
    assert is_xml(to_xml(plain.encode()))
    assert not is_xml(plain.encode())


WORD = st.text(st.sampled_from("ab|^~\\&é\"<'1"), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(WORD, WORD, WORD), min_size=1, max_size=4))
def test_any_value_comes_back(rows: list[tuple[str, str, str]]) -> None:
    """Whatever marks stand in it, escaped."""
    written = [tuple(USUAL.written([word]) for word in row) for row in rows]
    lines = "".join(f"NK1|{n}|{a}^{b}||^^{c}\r" for n, (a, b, c) in enumerate(written))
    message = f"{BILL}{lines}"
    found = document(message)
    assert from_xml(to_xml(message.encode())).decode() == message
    assert [
        (one.findtext("v2:NK1.2/v2:XPN.1", None, NS), one.findtext("v2:NK1.2/v2:XPN.2", None, NS))
        for one in found.iter("{urn:hl7-org:v2xml}NK1")
    ] == [(a, b) for a, b, _ in rows]


def test_escapes() -> None:
    """Marks, bytes, and codes that are no characters."""
    assert USUAL.read("a\\F\\b\\S\\\\T\\\\R\\\\E\\") == ["a|b^&~\\"]
    assert USUAL.read("\\XC3A9\\ \\.sp 2\\\\Zx\\c\\") == [
        "é ",
        Escape(".sp 2"),
        Escape("Zx"),
        "c\\",
    ]
    assert USUAL.read("\\XFF\\") == [Escape("XFF")]
    assert USUAL.written(["a|b\\", Escape("H")]) == "a\\F\\b\\E\\\\H\\"
    other = Separators.of("MSH#*+!?#A")
    assert (other.component, other.repetition, other.escape, other.subcomponent) == tuple("*+!?")
    assert other.read("!S!") == ["*"]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"", "MSH"),
        (b"PID|1", "MSH"),
        (b"MSH|^^\\&|A", "no separators"),
        (b"MSH|^~\\&|A||||||ADT^A01|1|P|2.3\rnothing", "no segment"),
        (b"MSH|^~\\&|A||||||ADT^<x>|1|P|2.3", "MSH-9"),
        (b"MSH|^~\\&|A\x01||||||ADT^A01|1|P|2.3", "character"),
        (b"\xff\xfe", "utf-8"),
    ],
)
def test_what_is_no_message_is_refused(message: bytes, reason: str) -> None:
    """With what is wrong."""
    with pytest.raises(ValueError, match=re.escape(reason)):
        to_xml(message)


@pytest.mark.parametrize(
    ("inside", "reason"),
    [
        ("", "not MSH"),
        ("<PID/>", "not MSH"),
        ("<MSH><MSH.2>^~\\&amp;amp;</MSH.2></MSH>", "no separators"),
        ("<MSH><MSH.0>x</MSH.0></MSH>", "no place"),
        ("<MSH><MSH.999>x</MSH.999></MSH>", "no place"),
        ("<MSH><PID.3>x</PID.3></MSH>", "no place in MSH"),
        ("<MSH><MSH.3><HD.1><a.1><b.1/></a.1></HD.1></MSH.3></MSH>", "too deep"),
        ("<MSH><MSH.3><HD.1>a</HD.1><HD.1>b</HD.1></MSH.3></MSH>", "twice"),
        ("<MSH/><what/>", "neither a segment nor a group"),
        ("<g.a>" * 30 + "<MSH/>" + "</g.a>" * 30, "deep"),
        ("<MSH xmlns='urn:other'/>", "not of the namespace"),
        ("<MSH>", "no XML"),
    ],
)
def test_what_is_no_document_is_refused(inside: str, reason: str) -> None:
    """With what is wrong."""
    with pytest.raises(ValueError, match=reason):
        from_xml(f"<ADT_A01 xmlns='urn:hl7-org:v2xml'>{inside}</ADT_A01>".encode())


def test_a_document_type_is_refused() -> None:
    """Entities could be anything."""
    with pytest.raises(ValueError, match="document type"):
        from_xml(b"<!DOCTYPE a [<!ENTITY x 'y'>]><a/>")


def test_documents_are_laid_out_for_readers() -> None:
    """Blanks around and between are none of the values; elements stand in any order."""
    found = from_xml(
        b"<ADT_A01><MSH> <MSH.10>\n  7\n 8 </MSH.10>\n<MSH.9><MSG.2>A01</MSG.2>"
        b"<MSG.1>ADT</MSG.1></MSH.9></MSH><g.PATIENT><PID><PID.3>a</PID.3><PID.3/>"
        b"<PID.3>b<escape V='.br'/>c</PID.3></PID></g.PATIENT></ADT_A01>"
    )
    assert found == b"MSH|^~\\&|||||||ADT^A01|7 8\rPID|||a~~b\\.br\\c\r"


def test_the_version_that_holds() -> None:
    """The newest that is not newer."""
    told = ["2.3", "2.7.1", "2.99", "1", "", "what"]
    assert [version_of(one) for one in told] == ["2.3", "2.7", "2.8.2", "2.1", "2.3", "2.1"]
