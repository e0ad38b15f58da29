"""What to install where a part of the project misses packages of others. The package index has a
stranger's `lockstep`: an extra has to be asked of a wheel's file, and a hint names the packages.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Final

PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "console": ("nicegui>=3.18", "pygls>=2.1"),
    "mqtt": ("paho-mqtt>=2.1",),
    "rabbitmq": ("aio-pika>=9.5",),
    "jms": ("stomp.py>=8.2",),
    "grpc": ("grpcio>=1.75",),
    "snmp": ("pysnmp>=7.1",),
    "aws": ("botocore>=1.40",),
    "mongodb": ("pymongo>=4.13,<4.18",),
    "ml": ("onnxruntime>=1.20", "onnx>=1.17"),
    "streamingml": ("river>=0.26",),
}
"""By extra, as pyproject.toml has them."""


def to_install(extra: str, where: str = "") -> str:
    """A hint: the command that brings what an extra consists of, and where it is needed. An
    extension of somebody else may name an extra of a project that nobody here knows."""
    packages = PACKAGES.get(extra)
    command = f"pip install {shlex.join(packages)}" if packages else "install it"
    return f"{command} {where}".rstrip()
