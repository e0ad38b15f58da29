"""Why an HTTP request got no answer, in words for people."""

from __future__ import annotations

import os
import socket
import ssl


def why_unreached(error: BaseException) -> str:
    """Of what aiohttp or the standard library raises: `connection refused`, `no answer in time`,
    …; never empty.
    """
    # aiohttp wraps what the system said, and what was wrong with a certificate.
    cause = getattr(error, "certificate_error", getattr(error, "os_error", error))
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not to be trusted ({cause.verify_message})"
    if isinstance(error, ValueError):
        return "no address of the form http://host:port"
    if isinstance(cause, socket.gaierror):
        return f"unknown host ({cause.strerror})"
    if isinstance(cause, OSError) and cause.errno and not isinstance(cause, ssl.SSLError):
        return os.strerror(cause.errno).lower()
    return str(error) or type(error).__name__
