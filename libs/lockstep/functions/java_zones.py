"""Java's time zones: by their ids, and by what a text calls them.

The two are not the same. As an id `PST` is Los Angeles, with its summer. In a text it is what a
clock says just then: eight hours behind, in July, too, as there it would say `PDT` in summer.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from lockstep.operators.errors import EventError
from lockstep.siddhiql.zone_names import region

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?")
_SHORT_ZONES = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
_FIXED = {
    name: timezone(timedelta(hours=hours), name)
    for name, hours in {"EST": -5, "MST": -7, "HST": -10}.items()
}
_UTC_NAMES = ("Z", "UTC", "GMT", "UT")

_HINT: Final = "write 'UTC', 'Europe/Berlin' or '+05:30'"
_NAMES_BY_MINUTES: Final = {
    -660: "NUST NUT SDT SST",
    -600: "CKHST CKT HAST HDT HST TAHST TAHT",
    -570: "MARST MART",
    -540: "AKST GAMST GAMT HADT",
    -480: "AKDT PST",
    -420: "MST PDT",
    -360: "CST GALST GALT MDT",
    -300: "ACT CDT COST COT EASST ECST ECT EST PEST PET PETST PETT",
    -240: "AST BOST BOT CLT EDT GYST GYT VEST VET",
    -210: "NST",
    -180: (
        "ADT ARST ART BRST BRT CLST FKST FKT GFST GFT PMST PYST PYT ROTST ROTT SRST SRT UYST UYT"
    ),
    -150: "NDT",
    -120: "EGT FNST FNT PMDT WGT",
    -60: "AZOT CVST CVT EGST WGST",
    0: "AZOST GHST WET",
    60: "BST CET MET WAST WAT WEST",
    120: "CAST CAT CEST EET IST MEST SAST",
    180: "EAST EAT EEST IDT MSD MSK SYOST SYOT TRST TRT",
    210: "IRDT IRST",
    240: "AMST AMT AZST AZT GDT GEST GET GST MUST MUT REST RET SAMST SAMT SCST SCT",
    270: "AFST AFT",
    300: (
        "ALMST ALMT AQTST AQTT MAWST MAWT MVST MVT ORAST ORAT PKST PKT QOSST QOST QYZST "
        "QYZT TFST TFT TJST TJT TMST TMT UZST UZT VOSST VOST YEKST YEKT"
    ),
    345: "NPST NPT",
    360: "BDST BDT BTST BTT IOST IOT KGST KGT OMSST OMST XJDT XJT",
    390: "CCST CCT MMST MMT",
    420: "CXST CXT DAVST DAVT HOVST HOVT ICST ICT KRAST KRAT NOVST NOVT WIB WIST",
    480: "AWDT AWST BNST BNT CHOST CHOT CIST HKST HKT IRKST IRKT MYST MYT SGST SGT ULAST ULAT",
    525: "ACWDT ACWST",
    540: "EIST JDT JST KDT KST PWST PWT TLST TLT WIT WITA YAKST YAKT",
    570: "ACDT ACST",
    600: "AEST CHUST CHUT CHDT CHST DDUST DDUT PGST PGT VLAST VLAT",
    630: "LHST",
    660: (
        "AEDT KOSST KOST LHDT MAGST MAGT NCST NCT NFT PONST PONT SAKST SAKT SBST SBT "
        "SREDT SRET VUST VUT"
    ),
    720: "ANAST ANAT FJST FJT GILST GILT MHST MHT NFST NRST NRT NZST TVST TVT WAKST WAKT WFST WFT",
    765: "CHAST",
    780: "NZDT PHOST PHOT TKST TKT TOST TOT WSDT WSST",
    825: "CHADT",
    840: "LINST LINT",
}
"""What a text may call a zone, by its offset, as Java 17 reads it in English, in UTC. Where several
zones have a name it is the one that Java finds first: `IST` is Israel's, `BST` Britain's."""

_OFFSETS = {
    name: timedelta(minutes=minutes)
    for minutes, names in _NAMES_BY_MINUTES.items()
    for name in names.split()
}
_WINTER_AND_SUMMER = (datetime(2026, 1, 15, tzinfo=UTC), datetime(2026, 7, 15, tzinfo=UTC))


def zone(name: str) -> tzinfo:
    """A zone by its id, an old three-letter id or an offset; raises EventError for none."""
    if name in _UTC_NAMES:
        return UTC
    fixed = _FIXED.get(name)
    if fixed is not None:
        return fixed
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        return timezone(_offset(offset))
    found = region(_SHORT_ZONES.get(name, name))
    if found is None:
        raise EventError(f"there is no time zone {name!r}", hint=_HINT)
    return found


def _offset(match: re.Match[str]) -> timedelta:
    minutes = int(match[2]) * 60 + int(match[3] or 0)
    if minutes > 18 * 60:
        raise EventError(f"{match[0]!r} is no offset")
    return timedelta(minutes=-minutes if match[1] == "-" else minutes)


@lru_cache(maxsize=512)
def zone_in_text(name: str, own: tzinfo) -> tzinfo:
    """What a text calls a zone, or an id; `own`: the zone that it would be in without saying so,
    whose own names come first. Raises EventError for none."""
    word = name.upper()
    if word in _UTC_NAMES:
        return UTC
    if isinstance(own, ZoneInfo):
        for moment in _WINTER_AND_SUMMER:
            there = moment.astimezone(own)
            if there.tzname() == word:
                return timezone(there.utcoffset() or timedelta(0), word)
    offset = _OFFSETS.get(word)
    return zone(name) if offset is None else timezone(offset, word)
