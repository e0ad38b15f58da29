"""The folder of secrets."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from lockstep.secrets import SecretError, Vault
from lockstep.secrets.vault import MAX_BYTES


def test_an_apps_own_secret_goes_before_that_of_all(tmp_path: Path) -> None:
    """One line break at the end is none of it."""
    (tmp_path / "Orders").mkdir()
    (tmp_path / "token").write_bytes(b" all \r\n")
    (tmp_path / "Orders" / "token").write_text("own\n\n")
    vault = Vault(str(tmp_path))
    assert vault.value("Orders", "token") == "own\n"
    assert vault.value("Others", "token") == " all "


def test_a_secret_of_another_app_cannot_be_had(tmp_path: Path) -> None:
    """A folder is no secret either."""
    (tmp_path / "Orders").mkdir()
    (tmp_path / "Orders" / "token").write_text("own")
    with pytest.raises(SecretError, match="there is no file for it"):
        Vault(str(tmp_path)).value("Others", "token")
    with pytest.raises(SecretError):
        Vault(str(tmp_path)).value("Others", "Orders")


@pytest.mark.parametrize("app", ["..", ".", "Orders/../Others", "/etc", ""])
def test_an_app_of_another_name_than_a_folders_has_those_of_all(tmp_path: Path, app: str) -> None:
    """Its name leads nowhere else."""
    vault = tmp_path / "vault"
    for folder in (vault / "Orders", vault / "Others", tmp_path):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "own").write_text("other")
    (vault / "token").write_text("all")
    assert Vault(str(vault)).value(app, "token") == "all"
    with pytest.raises(SecretError, match="no file for it") as caught:
        Vault(str(vault)).value(app, "own")
    assert caught.value.hint == f"put it into {vault / 'own'}"


def test_what_cannot_be_looked_at_is_not_taken_for_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An app whose folder is closed to the service has no secret: that of every app may be another.
    What asks is told so, and other apps are not concerned."""
    (tmp_path / "token").write_text("all")
    (tmp_path / "Looped").symlink_to("Looped")
    closed, stat = tmp_path / "Closed", Path.stat

    def guarded(path: Path, **given: bool) -> os.stat_result:
        if path.parent == closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, **given)

    monkeypatch.setattr(Path, "stat", guarded)
    vault = Vault(str(tmp_path))
    for app, why in (("Closed", "Permission denied"), ("Looped", "Too many levels")):
        with pytest.raises(SecretError, match=f"'token': cannot be read: {why}"):
            vault.value(app, "token")
        assert vault.stamp(app, ["token"]) == vault.stamp("Others", ["none"])
    assert vault.value("Others", "token") == "all"


@pytest.mark.parametrize("app", ["A" * 300, "A\0"])
def test_an_app_whose_name_no_folder_can_have_has_the_secrets_of_all(
    tmp_path: Path, app: str
) -> None:
    """It is too long for one, for example."""
    (tmp_path / "token").write_text("all")
    assert Vault(str(tmp_path)).value(app, "token") == "all"


@pytest.mark.parametrize(
    ("content", "why"), [(b"\xff", "no text in UTF-8"), (b"a" * (MAX_BYTES + 1), "larger than")]
)
def test_why_a_secret_cannot_be_had(tmp_path: Path, content: bytes, why: str) -> None:
    """Without what stands in it."""
    (tmp_path / "token").write_bytes(content)
    with pytest.raises(SecretError, match=why) as caught:
        Vault(str(tmp_path)).value("A", "token")
    assert "aaaa" not in str(caught.value)


def test_without_a_folder_there_are_none() -> None:
    """And the settings are named that would change it."""
    with pytest.raises(SecretError, match=r"secrets\.folder"):
        Vault("").value("A", "token")


def test_the_stamp_tells_what_changed(tmp_path: Path) -> None:
    """A secret that came, one that is another, one that went."""
    vault, file = Vault(str(tmp_path)), tmp_path / "a"
    names = ("a", "b")
    stamps = [vault.stamp("A", names)]
    for change in (lambda: file.write_text("1"), lambda: file.write_text("2"), file.unlink):
        change()
        stamps.append(vault.stamp("A", names))
    assert len({*stamps}) == 3
    assert stamps[0] == stamps[3]
