"""The sections `listen` and `status` of the settings: where a process is reached."""

from pathlib import Path
from typing import Final

from pydantic import Field

from app.settings.section import Section
from webhooks.limits import AppSettings, ServerSettings

_SERVER: Final = ServerSettings()
_APP: Final = AppSettings()


class ListenSection(Section):
    """Where kube-apiserver reaches the webhooks, over TLS."""

    host: str = Field(_SERVER.host, description="Address; 0.0.0.0 in a Pod.")
    port: int = Field(_SERVER.port, ge=0, le=65535, description="Port; 0 takes any that is free.")
    cert: Path | None = Field(None, description="Serving certificate (PEM), with its chain.")
    key: Path | None = Field(None, description="Its private key (PEM).")
    client_ca: Path | None = Field(
        None, description="Demand a client certificate of this CA (PEM) from kube-apiserver."
    )
    client_names: list[str] = Field(
        default_factory=list,
        description="Whom such a certificate must name (CN or SAN); without any, whomever the CA "
        "vouches for.",
    )
    max_body_bytes: int = Field(
        _APP.max_body_bytes,
        ge=1024,
        description="Largest review; both objects travel in an update.",
    )
    max_held_bytes: int = Field(
        _APP.max_held_bytes,
        ge=1024 * 1024,
        description="Bodies of all reviews being read or judged; beyond it 503 and try again.",
    )
    drain_seconds: float = Field(
        _SERVER.drain_seconds,
        ge=0,
        le=120,
        description="After SIGTERM: how long to go on answering new requests.",
    )

    @property
    def authenticates(self) -> bool:
        """Whether callers prove to be kube-apiserver.

        A CA alone may vouch for every user, and for what kube-apiserver shows to kubelets.
        """
        return self.client_ca is not None and bool(self.client_names)


class StatusSection(Section):
    """Where `/livez`, `/readyz` and `/metrics` are served, in the clear."""

    host: str = Field(_SERVER.status_host, description="Address; 0.0.0.0 in a Pod.")
    port: int = Field(
        _SERVER.status_port, ge=0, le=65535, description="Port; 0 takes any that is free."
    )
