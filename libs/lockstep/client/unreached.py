"""Why an HTTP request got no answer, in words for people."""

from __future__ import annotations

import os
import socket

import aiohttp


def why_unreached(error: BaseException) -> str:
    """Of what aiohttp raises: `connection refused`, `no answer in time`, …; never empty."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, aiohttp.InvalidURL):
        return "no address of the form http://host:port"
    if isinstance(cause, socket.gaierror):
        return f"unknown host ({cause.strerror})"
    if isinstance(cause, OSError) and cause.errno:
        return os.strerror(cause.errno).lower()
    return str(error) or type(error).__name__
