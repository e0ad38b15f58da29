"""Carbon applications (`.car`): what is in them, read within limits."""

from __future__ import annotations

import io
import stat
import zipfile
import zlib
from pathlib import PurePosixPath
from typing import Final

from lockstep.migration.findings import Findings, Place
from lockstep.migration.reading import MAX_FILE_BYTES, Node, SourceFile, UnreadableError, parse_xml

MAX_ARCHIVE_BYTES: Final = 67_108_864
MAX_MEMBERS: Final = 2_000
MAX_UNPACKED_BYTES: Final = 134_217_728
MAX_RATIO: Final = 200
"""So many times larger than packed a file may be: definitions are texts, and pack to a tenth."""
MAX_DEPTH: Final = 3
"""A Carbon application may hold another one, and that one more."""

_CHUNK_BYTES: Final = 65_536
_SMALL_BYTES: Final = 65_536


class ArchiveError(UnreadableError):
    """An archive that is none, that reaches outside of itself, or that is over a limit."""


def members(file: SourceFile, findings: Findings, depth: int = 1) -> list[SourceFile]:
    """The files that the archive's `artifacts.xml` names, named `archive.car!/folder/file`.

    What is in the archive and is not named is reported as left out. Raises ArchiveError.
    """
    place = Place(file.name, 1)
    if len(file.data) > MAX_ARCHIVE_BYTES:
        raise ArchiveError(place, f"it has more than {MAX_ARCHIVE_BYTES} bytes")
    if depth > MAX_DEPTH:
        raise ArchiveError(place, f"archives stand more than {MAX_DEPTH} deep in one another")
    try:
        with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
            unpacked = _unpacked(archive, place)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise ArchiveError(place, f"not a zip archive that can be read: {error}") from error
    except zlib.error as error:
        raise ArchiveError(place, f"it is damaged: {error}") from error
    return _named(file.name, unpacked, findings, depth)


def _unpacked(archive: zipfile.ZipFile, place: Place) -> dict[str, bytes]:
    infos = archive.infolist()
    if len(infos) > MAX_MEMBERS:
        raise ArchiveError(place, f"it has more than {MAX_MEMBERS} files")
    found: dict[str, bytes] = {}
    total = 0
    for info in infos:
        _refuse_outside(info, place)
        if info.is_dir():
            continue
        limit = MAX_ARCHIVE_BYTES if info.filename.endswith(".car") else MAX_FILE_BYTES
        data = _read(archive, info, limit, place)
        total += len(data)
        if total > MAX_UNPACKED_BYTES:
            raise ArchiveError(place, f"it unpacks to more than {MAX_UNPACKED_BYTES} bytes")
        found[info.filename] = data
    return found


def _refuse_outside(info: zipfile.ZipInfo, place: Place) -> None:
    path = PurePosixPath(info.filename.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in path.parts[0:1]:
        raise ArchiveError(place, f"{info.filename!r} leads out of the archive")
    if stat.S_ISLNK(info.external_attr >> 16):
        raise ArchiveError(place, f"{info.filename!r} is a link")


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int, place: Place) -> bytes:
    """The bytes of a file; what the archive says of their number is not believed."""
    data = bytearray()
    with archive.open(info) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            data += chunk
            if len(data) > limit:
                raise ArchiveError(place, f"{info.filename!r} has more than {limit} bytes")
            if len(data) > _SMALL_BYTES and len(data) > MAX_RATIO * max(info.compress_size, 1):
                raise ArchiveError(
                    place, f"{info.filename!r} is more than {MAX_RATIO} times as large as packed"
                )
    return bytes(data)


def _named(
    archive: str, unpacked: dict[str, bytes], findings: Findings, depth: int
) -> list[SourceFile]:
    if "artifacts.xml" not in unpacked:
        raise ArchiveError(Place(archive, 1), "there is no artifacts.xml in it")
    used = {"artifacts.xml"}
    root = parse_xml(SourceFile(f"{archive}!/artifacts.xml", unpacked["artifacts.xml"]))
    found: list[SourceFile] = []
    for artifact in root.elements("artifact"):
        for key in ("name", "version", "type"):
            artifact.attribute(key)
        for dependency in artifact.elements("dependency"):
            found += _dependency(archive, dependency, unpacked, used, findings, depth)
    for place, what in root.leftovers():
        findings.to_decide(place, what, "the import does not know it")
    for path in sorted(set(unpacked) - used):
        findings.dropped(
            Place(f"{archive}!/{path}", 1),
            "other files of the archive",
            "no definitions that an artifact names",
        )
    return found


def _dependency(
    archive: str, dependency: Node, unpacked: dict[str, bytes], used: set[str],
    findings: Findings, depth: int,
) -> list[SourceFile]:  # fmt: skip
    name = dependency.attribute("artifact") or ""
    version = dependency.attribute("version") or ""
    role, included = dependency.attribute("serverRole"), dependency.attribute("include", "true")
    folder = f"{name}_{version}"
    path = f"{folder}/artifact.xml"
    if path not in unpacked:
        findings.to_decide(
            dependency.place, f"artifact {name} {version} (include {included}, role {role})",
            f"{path} is not in the archive",
        )  # fmt: skip
        return []
    used.add(path)
    root = parse_xml(SourceFile(f"{archive}!/{path}", unpacked[path]))
    for key in ("name", "version", "type", "serverRole"):
        root.attribute(key)
    held = root.element("file")
    file = f"{folder}/{held.text()}" if held is not None else ""
    for place, what in root.leftovers():
        findings.to_decide(place, what, "the import does not know it")
    inside = {path for path in unpacked if path.startswith(f"{file.rstrip('/')}/")}
    if inside:
        findings.to_decide(
            root.place, f"artifact {name} {version}: the folder {file!r}", "no definition",
            "gadgets and pages follow streams at the presenter: rebuild them on its topics",
        )  # fmt: skip
        return []
    if file not in unpacked:
        findings.to_decide(
            root.place, f"artifact {name} {version}", f"{file!r} is not in the archive"
        )
        return []
    used.add(file)
    member = SourceFile(f"{archive}!/{file}", unpacked[file])
    if (included or "").strip().lower() == "false":
        what = f"artifact {name} {version}"
        findings.to_decide(
            dependency.place, what, "it says include='false'", "leave its app undeployed"
        )
    return members(member, findings, depth + 1) if file.endswith(".car") else [member]
