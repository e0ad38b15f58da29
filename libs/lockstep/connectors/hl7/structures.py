"""What messages, segments and types of HL7 version 2 consist of; the one door to hl7apy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Any, Final, TypeVar, TypeVarTuple

import hl7apy

OLDEST: Final = "2.3"
"""Of a message that does not say its version."""
KEPT: Final = 1_000
"""Answers of each kind that are kept: what is asked for, senders say."""
KEPT_MAX_CHARACTERS: Final = 100
"""Of the names in a question whose answer is kept. No known one is as long."""
VERSION_MAX_CHARACTERS: Final = 20
"""Of a version as a sender writes it; what is behind them is not looked at."""
Names = TypeVarTuple("Names")
T = TypeVar("T")

_SHARED: Final = {
    "ADT_A01": "A04 A08 A13", "ADT_A05": "A14 A28 A31", "ADT_A06": "A07",
    "ADT_A09": "A10 A11 A12", "ADT_A21": "A22 A23 A25 A26 A27 A29 A32 A33",
    "ADT_A30": "A34 A35 A36 A46 A47 A48 A49", "ADT_A39": "A40 A41 A42", "ADT_A43": "A44",
    "ADT_A50": "A51", "ADT_A52": "A53", "ADT_A54": "A55", "ADT_A61": "A62",
    "CRM_C01": "C02 C03 C04 C05 C06 C07 C08", "CSU_C09": "C10 C11 C12",
    "MDM_T01": "T03 T05 T07 T09 T11", "MDM_T02": "T04 T06 T08 T10", "PEX_P07": "P08",
    "PGL_PC6": "PC7 PC8", "PPG_PCG": "PCC PCH PCJ", "PPP_PCB": "PCD", "PPR_PC1": "PC2 PC3",
    "REF_I12": "I13 I14 I15", "RPA_I08": "I09 I10 I11", "RQA_I08": "I09 I10 I11",
    "RQC_I05": "I06", "RQI_I01": "I02 I03", "RRI_I12": "I13 I14 I15",
    "SIU_S12": "S13 S14 S15 S16 S17 S18 S19 S20 S21 S22 S23 S24 S26",
    "SRM_S01": "S02 S03 S04 S05 S06 S07 S08 S09 S10 S11",
    "SRR_S01": "S02 S03 S04 S05 S06 S07 S08 S09 S10 S11",
}  # fmt: skip
"""Structures that messages of other events have, too (HL7 table 0354)."""
_STRUCTURE_OF: Final = {
    f"{name.partition('_')[0]}_{event}": name
    for name, events in _SHARED.items()
    for event in events.split()
}


@dataclass(frozen=True, slots=True)
class Part:
    """Of a message or group: a segment, or a group of `parts`. A choice is no group of its own:
    one of its parts stands in its place."""

    tag: str
    repeats: bool
    parts: tuple[Part, ...] = ()
    is_choice: bool = False


@dataclass(frozen=True, slots=True)
class Type:
    """Of a field or a component: the tag of its element, and the types of its components; none in
    a plain one. `varies`: what type it has the message says elsewhere, or nobody."""

    tag: str
    parts: tuple[Type, ...] = ()
    varies: bool = False


def version_of(text: str) -> str:
    """The version whose structures hold: this one, else the newest that is older, or the oldest."""
    wanted = _numbers(text[:VERSION_MAX_CHARACTERS] or OLDEST)
    known = sorted(hl7apy.SUPPORTED_LIBRARIES, key=_numbers)
    return str(next((one for one in reversed(known) if _numbers(one) <= wanted), known[0]))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _kept(answer: Callable[[*Names], T]) -> Callable[[*Names], T]:
    """Answers once to short names. Long ones would fill the memory, as nobody uses them again."""
    short = lru_cache(maxsize=KEPT)(answer)

    @wraps(answer)
    def asked(*names: *Names) -> T:
        is_short = sum(len(str(one)) for one in names) <= KEPT_MAX_CHARACTERS
        return short(*names) if is_short else answer(*names)

    return asked


@_kept
def message_of(kind: str, event: str, structure: str, version: str) -> tuple[str, tuple[Part, ...]]:
    """The name of a message's structure, and its parts; none when nobody knows it."""
    plain = f"{kind}_{event}" if event else kind
    known = _elements(version, "Message")
    for name in (structure, plain, _STRUCTURE_OF.get(plain, ""), kind):
        if name in known:
            return name, _parts(name, known[name])
    return structure or plain, ()


@_kept
def fields_of(segment: str, version: str) -> tuple[Type, ...]:
    """The fields of a segment, from the first on; none when nobody knows it."""
    found = _elements(version, "Segment").get(segment)
    return tuple(_type(one) for one in found[1]) if found and found[1] else ()


@_kept
def components_of(name: str, version: str) -> tuple[Type, ...] | None:
    """The components of a type by its name, as OBX-2 says it: () for a plain one, None when nobody
    knows it."""
    found = _elements(version, "Datatypes_Structs").get(name)
    if found is not None:
        return tuple(_type(one) for one in found)
    return () if hl7apy.load_library(version).is_base_datatype(name) else None


def _elements(version: str, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = hl7apy.load_library(version).ELEMENTS[kind]
    return found


def _parts(message: str, reference: Any) -> tuple[Part, ...]:
    found = []
    for name, inner, (_, most), kind in reference[1] or ():
        if kind == "GRP":
            own = name.upper().removeprefix(f"{message.upper()}_")
            parts = _parts(message, inner)
            found.append(Part(f"{message}.{own}", most != 1, parts, inner[0] == "choice"))
        else:
            found.append(Part(name, most != 1))
    return tuple(found)


def _type(reference: Any) -> Type:
    name, inner = reference[:2]
    tag = ".".join(name.rsplit("_", 1))
    if inner[0] == "sequence":
        return Type(tag, tuple(_type(one) for one in inner[1]))
    return Type(tag, varies=inner[2] == "varies")
