"""Asks a process's status listener: `/livez`, `/readyz`, `/metrics`."""

import http.client
from contextlib import suppress


def ask(port: int, path: str, timeout_s: float = 30.0) -> tuple[int, str]:
    """Return code and body.

    Raises:
        OSError: nobody listens.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def is_ready(port: int, timeout_s: float = 5.0) -> bool:
    """Return whether the process says that it is ready."""
    with suppress(OSError, http.client.HTTPException):
        return ask(port, "/readyz", timeout_s)[0] == http.HTTPStatus.OK
    return False
