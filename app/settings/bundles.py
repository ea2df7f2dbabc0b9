"""The sections `bundles` and `shadow` of the settings: which policy bundles are taken, and how."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Shadow(BaseModel):
    """A candidate bundle that judges live reviews too: what it would change is counted only."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    bundle: Path | None = Field(None, description="The candidate; without it none rides along.")
    budget: float = Field(
        0.05, gt=0, le=1, description="Share of a core that it may take; beyond it, it samples."
    )


_KeyId = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,63}$")]


class Source(BaseModel):
    """The OCI registry from which `control` takes bundles, and has them activated."""

    model_config = ConfigDict(extra="forbid", frozen=True)
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


class Bundles(BaseModel):
    """Which policy bundles are taken, and how they are followed."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    keys: dict[_KeyId, Path] = Field(
        default_factory=dict,
        description="Public keys (PEM) by their ids: with any, a bundle that none of them has "
        "signed is refused. Two for as long as one replaces the other.",
    )
    poll: float = Field(
        2.0, ge=0.1, le=3600, description="Seconds from one look at the file `bundle` to the next."
    )
    source: Source = Source()
