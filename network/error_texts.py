"""Describes an exception of a library without a value that it may hold.

Exceptions of aiohttp and PyYAML quote what they stumbled over: a URL with a password, a line of a
kubeconfig. What is described here goes to logs, to /readyz and to those who asked: types, places,
hosts and numbers alone.
"""

import binascii
import errno
import os
import socket
import ssl

import aiohttp
import yaml


def describe(error: BaseException) -> str:
    """Say what happened: for a person, of one line, without anything that came from outside."""
    reason = _reason(error)
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"cannot connect to {error.host}:{error.port}: {reason}"
    return reason


def _reason(error: BaseException) -> str:
    kind = type(error).__name__
    says = ""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        says = _reason(error.certificate_error)
    elif isinstance(error, aiohttp.ClientConnectorError):
        says = _reason(error.os_error)
    elif isinstance(error, aiohttp.ClientResponseError):
        says = f"{kind}, status {error.status}"
    elif isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        says = f"it is not YAML{where} ({kind})"
    elif isinstance(error, binascii.Error):
        says = "a value is not base64"
    elif isinstance(error, ssl.SSLCertVerificationError):
        says = f"its certificate is not trusted ({_verification(error)})"
    elif isinstance(error, OSError):
        says = _system_reason(error)
    return says or kind


def _system_reason(error: OSError) -> str:
    """Name an error of the system, of the resolver or of TLS by that one's own constant text."""
    if isinstance(error, TimeoutError):
        return "timed out"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or type(error).__name__})"
    if isinstance(error, socket.gaierror):
        return "its name is not known to the resolver"
    return os.strerror(error.errno) if error.errno and error.errno in errno.errorcode else ""


def _verification(error: ssl.SSLCertVerificationError) -> str:
    """Return OpenSSL's text of a verification that failed, which is one of a fixed list."""
    return str(getattr(error, "verify_message", "") or "no reason given")
