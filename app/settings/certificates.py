"""The section `certificates` of the settings: who makes them, and how long they last."""

import datetime as dt
from typing import Literal, Self

from pydantic import Field, model_validator

from app.settings.section import Section
from certs.lifetimes import RotationSettings

_DEFAULT = RotationSettings()


class CertificatesSection(Section):
    """The CA, the certificates of gate, control and auditor, and their rotation."""

    source: Literal["sallyport", "cert-manager"] = Field(
        "sallyport",
        description="Who makes certificates: control, or cert-manager (the chart makes its "
        "Issuer and Certificates); then control only looks.",
    )
    authority_days: int = Field(
        _DEFAULT.authority_lifetime.days,
        ge=7,
        le=3650,
        description="Days that a CA is valid; the next one is made after two thirds of them.",
    )
    leaf_days: int = Field(
        _DEFAULT.leaf_lifetime.days,
        ge=1,
        le=398,
        description="Days that a certificate is valid; replaced after two thirds of them.",
    )
    distribution_seconds: int = Field(
        int(_DEFAULT.distribution.total_seconds()),
        ge=180,
        le=86_400,
        description="Seconds in which every process has read what changed; a new CA signs no "
        "sooner. A kubelet takes up to 120.",
    )

    @model_validator(mode="after")
    def _fit(self) -> Self:
        """Refuse lifetimes that cannot work together."""
        if problem := self.rotation().problem():
            raise ValueError(problem)
        return self

    def rotation(self) -> RotationSettings:
        """Return them as the rotation takes them."""
        return RotationSettings(
            dt.timedelta(days=self.authority_days),
            dt.timedelta(days=self.leaf_days),
            dt.timedelta(seconds=self.distribution_seconds),
        )
