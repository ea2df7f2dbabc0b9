"""Where an OPA server is that evaluates the policies; who asks it is `policies.clients`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from core.base.errors import SettingsError

PORTS: Final = {"http": 80, "https": 443}
"""Where a URL names none."""


@dataclass(frozen=True)
class OpaServer:
    """Where an OPA server is, and how it is asked."""

    url: str
    """`http://host:port`, `https://host:port`, or `unix:///path/of/a/socket`."""
    push: bool = True
    """Whether the policies are put there; otherwise the server loads the bundle itself."""
    token_file: Path | None = None
    """Bearer token, read anew for each request: it may be replaced."""
    ca_file: Path | None = None
    """CA (PEM) of its certificate, instead of the machine's."""

    def __post_init__(self) -> None:
        """Look at the address.

        Raises:
            SettingsError: it is none.
        """
        try:
            parts = urlsplit(self.url)
            port = parts.port
        except ValueError as error:
            raise SettingsError(f"evaluation.opa.url: {error}") from error
        socket = parts.scheme == "unix" and parts.path.startswith("/") and not parts.netloc
        place = parts.scheme in PORTS and parts.hostname and parts.path in {"", "/"}
        if not (socket or place) or parts.query or parts.fragment or parts.username or port == 0:
            raise SettingsError(
                "evaluation.opa.url: write http://HOST:PORT, https://HOST:PORT or "
                "unix:///PATH/OF/SOCKET, and nothing behind it"
            )
        if parts.scheme != "https" and self.ca_file:
            raise SettingsError("evaluation.opa.ca_file: only https has a certificate to check")
