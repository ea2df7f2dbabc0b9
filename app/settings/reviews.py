"""The sections `access`, `approvals`, `discovery` and `sweep`: what is judged, and how often."""

from typing import Annotated, Final

from pydantic import Field

from app.settings.section import Section
from kube.client.settings import LiveSettings

LIVE: Final = LiveSettings()
_CRD_NAME = Annotated[str, Field(pattern=r"^[a-z0-9-]+(\.[a-z0-9-]+)+$", max_length=253)]


class AccessSection(Section):
    """How answers of access reviews are remembered."""

    allow_age: float = Field(
        LIVE.allow_age_s,
        ge=0,
        le=300,
        description="Seconds that a yes is believed: a right taken away ends.",
    )
    deny_age: float = Field(
        LIVE.deny_age_s,
        ge=0,
        le=60,
        description="Seconds that a no is believed: a right given begins.",
    )
    timeout: float = Field(
        LIVE.review_timeout_s, gt=0, le=10, description="Seconds for one access review."
    )


class ApprovalsSection(Section):
    """What two people must approve beside exceptions and BreakGlasses."""

    profiles: bool = Field(
        default=False,
        description="Creating or widening a ContainerProfile. The webhook `profiles.sallyport.dev` "
        "must be registered.",
    )


class DiscoverySection(Section):
    """Kinds that nobody listed, by the names of their CustomResourceDefinitions."""

    search: list[_CRD_NAME] = Field(
        default_factory=list,
        description="CustomResourceDefinitions (`widgets.example.com`) whose schema hides Pod "
        "templates: their objects are searched for something shaped like one.",
    )
    skip: list[_CRD_NAME] = Field(
        default_factory=list,
        description="CustomResourceDefinitions whose objects are left alone, whatever their schema "
        "says.",
    )


class SweepSection(Section):
    """How often, and how fast, what runs is judged again."""

    interval: float = Field(
        3600,
        ge=60,
        le=7 * 86400,
        description="Seconds from one sweep's beginning to the next's.",
    )
    pods_per_second: float = Field(500, ge=1, le=10_000, description="The most that are judged.")
