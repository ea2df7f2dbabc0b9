"""Describes an exception of a library without a value that it may hold.

Exceptions of aiohttp, PyYAML and kubernetes.aio quote what they stumbled over: a URL with a
password, a whole entry of a kubeconfig, what a credential plugin wrote. What is described here
goes to logs, to /readyz and to those who asked: types, places, hosts and numbers alone.
"""

import binascii
import errno
import os
import re
import socket
import ssl
from typing import Final

import aiohttp
import yaml
from kubernetes.aio.config import ConfigException

_CONFIG: Final = (
    (r"Expected key ([a-z-]+) in ", "key {} is missing"),
    (r"Expected object with name ", "a context, cluster or user is named that is not in it"),
    (r"Expected only one object ", "two of its contexts, clusters or users have one name"),
    (r"Expected all values in ", "one of its contexts, clusters or users has no name"),
    (r"Expected .* to be a list", "contexts, clusters and users must be lists"),
    (r"File does not exists: ", "a file that it names does not exist"),
    (r"exec: process returned (-?\d+)", "users[].user.exec: the plugin's exit code is {}"),
    (r"exec: failed to decode ", "users[].user.exec: the plugin's output is not JSON"),
    (r"exec: malformed re\w+\. missing key '(\w+)'", "users[].user.exec: {} is missing"),
    (r"exec: missing ", "users[].user.exec: the plugin gave no token and no certificate"),
    (r"exec: plugin api version ", "users[].user.exec: the plugin speaks another apiVersion"),
    (r"oidc: ", "users[].user.auth-provider: the token could not be refreshed"),
    (r"(Service|Cert|Token) .*(not set|empty|not exist)", "its {} is {}"),
)
"""Beginnings of what kubernetes.aio says, and what is passed on of it."""


def describe(error: BaseException) -> str:
    """Say what happened: for a person, of one line, without anything that came from outside."""
    reason = _reason(error)
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"cannot connect to {error.host}:{error.port}: {reason}"
    return reason


def describe_config(text: str) -> str:
    """Say what kubernetes.aio found wrong with credentials; empty for an unknown text."""
    for pattern, says in _CONFIG:
        if match := re.search(pattern, text):
            return says.format(*(group.lower() for group in match.groups()))
    return ""


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
    elif isinstance(error, ConfigException):
        says = describe_config(str(error))
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
