"""An authority of a test's own, and certificates that it gives out."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from lockstep.tls import TlsFiles

HOSTS: Final = ("127.0.0.1", "localhost")
LIFE: Final = datetime.timedelta(days=2)
BOTH: Final = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, in files."""

    certificate: Path
    key: Path

    def lock(self, password: str) -> None:
        """From now on the key is read with the password alone."""
        key = serialization.load_pem_private_key(self.key.read_bytes(), None)
        encrypted = serialization.BestAvailableEncryption(password.encode())
        pem = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
        self.key.write_bytes(key.private_bytes(*pem, encrypted))


class Authority:
    """Its certificate is in `file`; what it gives out is good for servers and for clients."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.file = folder / f"{name}.pem"
        self._name = name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._certificate = self._signed(name, self._key, (), is_authority=True)
        self.file.write_bytes(_pem(self._certificate))

    def give(self, name: str, hosts: Sequence[str] = HOSTS) -> Pair:
        """Files of that name; those that were there hold the new ones at once."""
        key = ec.generate_private_key(ec.SECP256R1())
        pair = Pair(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        _replace(pair.key, _unlocked(key))
        _replace(pair.certificate, _pem(self._signed(name, key, hosts, is_authority=False)))
        return pair

    def files(self, pair: Pair | None = None, *, server_name: str = "") -> TlsFiles:
        """Of one side of a connection: this authority, and what that side shows."""
        if pair is None:
            return TlsFiles(str(self.file), server_name=server_name)
        return TlsFiles(str(self.file), str(pair.certificate), str(pair.key), server_name)

    def _signed(
        self,
        name: str,
        key: ec.EllipticCurvePrivateKey,
        hosts: Sequence[str],
        *,
        is_authority: bool,
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        made = (
            x509.CertificateBuilder()
            .subject_name(_named(name))
            .issuer_name(_named(self._name))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - LIFE)
            .not_valid_after(now + LIFE)
            .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), False
            )
        )
        if is_authority:
            signs = [False] * 9
            signs[5] = signs[6] = True
            made = made.add_extension(x509.KeyUsage(*signs), critical=True)
        else:
            made = made.add_extension(x509.ExtendedKeyUsage(BOTH), critical=False)
            names = [_general(host) for host in hosts]
            made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return made.sign(self._key, hashes.SHA256())


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _unlocked(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _replace(path: Path, content: bytes) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_bytes(content)
    fresh.replace(path)
