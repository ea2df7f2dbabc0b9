"""Where sinks are that speak no HTTP, and the files by which they show who they are."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from audit.notifications.sink import SinkAwayError
from network.error_texts import describe

TIMEOUT_S: Final = 20.0
"""Of connecting, and of each wait for an answer."""

CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"


@dataclass(frozen=True, slots=True)
class TlsServer:
    """A server that is reached over TLS, whose certificate is verified always."""

    host: str
    port: int
    trust: Path | None = None
    """CA (PEM); the public ones where it is None."""
    secrets: Path | None = None
    """A folder; with `tls.crt` and `tls.key` in it the server is shown that certificate."""

    def context(self) -> ssl.SSLContext:
        """Return the TLS context, of the files as they are now.

        Raises:
            SinkAwayError: a file cannot be used.
        """
        try:
            context = ssl.create_default_context(cafile=self.trust)
            context.minimum_version = ssl.TLSVersion.TLSv1_2
            if self.secrets is not None and (self.secrets / CERTIFICATE).exists():
                context.load_cert_chain(self.secrets / CERTIFICATE, self.secrets / KEY)
        except OSError as error:
            raise SinkAwayError(
                f"its CA, {CERTIFICATE} or {KEY} cannot be used ({describe(error)}); give PEM"
            ) from None
        return context


def server_of(text: str, trust: Path | None, secrets: Path | None) -> TlsServer:
    """Return the server that `HOST:PORT` names, of which the settings hold the shape."""
    host, _, port = text.rpartition(":")
    return TlsServer(host, int(port), trust, secrets)
