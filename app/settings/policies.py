"""The sections `evaluation`, `bundles` and `shadow` of the settings: which policies judge."""

from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from app.settings.section import Section
from policies.engine.cache import MOST_ENTRIES
from policies.engine.embedded_engine import EvaluationLimits

_LIMITS: Final = EvaluationLimits()
MIB: Final = 1024 * 1024
_KeyId = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,63}$")]


class OpaSection(Section):
    """The OPA server that evaluates the policies, where one does."""

    url: str = Field(
        "",
        description="`http://HOST:PORT`, `https://HOST:PORT`, or `unix:///PATH/OF/SOCKET`. "
        "Proxies of the environment are not used.",
    )
    push: bool = Field(
        default=True,
        description="Put the policies there; otherwise the server must load the bundle itself.",
    )
    token_file: Path | None = Field(
        None, description="Bearer token for it; read anew for each request."
    )
    ca_file: Path | None = Field(
        None, description="CA (PEM) of its certificate; without it the machine's."
    )


class EvaluationSection(Section):
    """What evaluates the policies, and what one evaluation may take."""

    engine: Literal["embedded", "opa"] = Field(
        "embedded", description="`embedded` in this process, or `opa`: an OPA server."
    )
    opa: OpaSection = OpaSection()
    seconds: float = Field(_LIMITS.seconds, gt=0, le=5, description="Wall time.")
    memory_mib: int = Field(
        _LIMITS.memory_bytes // MIB,
        ge=8,
        le=1024,
        description="Memory of the policies, not of the gate.",
    )
    remembered: int = Field(
        MOST_ENTRIES,
        ge=0,
        le=65_536,
        description="Answers kept, so that a gang of Pods is evaluated once; 0 keeps none.",
    )


class BundleSourceSection(Section):
    """The OCI registry from which `control` takes bundles, and has them activated."""

    oci: str = Field(
        "",
        description="An image in a registry, `registry.example/policies/site:stable` or "
        "`…@sha256:…`: `control` looks what it is, and has what is new activated once all gates "
        "have it. Without it no registry is asked.",
    )
    interval: float = Field(
        300.0, ge=10, le=86400, description="Seconds from one look at the registry to the next."
    )
    unsigned: bool = Field(
        default=False,
        description="Take what nobody signed, without `bundles.keys`: who may write to the "
        "registry decides everything then.",
    )
    ca_file: Path | None = Field(
        None, description="CA (PEM) of the registry's certificate; else the machine's own."
    )
    username: str = Field("", description="Who signs in to the registry.")
    password_file: Path | None = Field(None, description="Holds the password, or a token.")


class BundlesSection(Section):
    """Which policy bundles are taken, and how they are followed."""

    keys: dict[_KeyId, Path] = Field(
        default_factory=dict,
        description="Public keys (PEM) by their ids: with any, a bundle that none of them has "
        "signed is refused. Two for as long as one replaces the other.",
    )
    poll: float = Field(
        2.0, ge=0.1, le=3600, description="Seconds from one look at the file `bundle` to the next."
    )
    source: BundleSourceSection = BundleSourceSection()


class ShadowSection(Section):
    """A candidate bundle that judges live reviews too: what it would change is counted only."""

    bundle: Path | None = Field(None, description="The candidate; without it none rides along.")
    budget: float = Field(
        0.05, gt=0, le=1, description="Share of a core that it may take; beyond it, it samples."
    )
