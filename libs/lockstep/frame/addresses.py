"""What a host name or address means to those who want to reach it."""

from __future__ import annotations

import ipaddress
import socket


def is_loopback(host: str) -> bool:
    """True for names and addresses that only this machine reaches."""
    if host in ("localhost", ""):
        return host == "localhost"
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_wildcard(host: str) -> bool:
    """True for the addresses that mean every interface: nobody can be reached there."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def outward_address(host: str) -> str:
    """The address with which this machine shows itself to others, in a pod the pod's own; the
    loopback where there is no network. Nothing is sent."""
    family, beyond, loopback = (
        (socket.AF_INET6, "2001:db8::1", "::1")
        if ":" in host
        else (socket.AF_INET, "192.0.2.1", "127.0.0.1")
    )
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((beyond, 9))
        except OSError:
            return loopback
        return str(probe.getsockname()[0])
