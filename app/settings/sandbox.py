"""The sections `sandbox` and `capacity` of the settings: which sandboxes there are, and where."""

from typing import Annotated

from pydantic import Field

from app.settings.section import Section
from sandbox.compatibility import Kind
from sandbox.runtime_choice import HANDLERS, NEW_ACCOUNT_HOURS, THRESHOLD


class SandboxSection(Section):
    """Which sandboxes there are. Profiles, namespaces and authors say when one is used."""

    runtime: str = Field(
        "gvisor",
        pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$",
        max_length=253,
        description="The RuntimeClass of the sandbox.",
    )
    second: str = Field(
        "",
        pattern=r"^([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$",
        max_length=253,
        description="The RuntimeClass for what the first cannot run, if there is one.",
    )
    handlers: dict[str, Kind] = Field(
        dict(HANDLERS),
        description="Which sandbox each handler of the nodes' runtime starts, `gvisor` or `kata`; "
        "a RuntimeClass with another handler is none.",
    )
    threshold: int = Field(
        THRESHOLD, ge=1, le=1000, description="The score from which risk demands a sandbox."
    )
    points: dict[str, Annotated[int, Field(ge=0, le=1000)]] = Field(
        default_factory=dict,
        description="Points of rules that are not the built-in ones: `sandbox/code/notebook: 30`.",
    )
    gpu_label: str = Field(
        "",
        pattern=r"^([A-Za-z0-9./_-]+=[A-Za-z0-9._-]*)?$",
        description="`key=value`: nodes with this label have a GPU driver that gVisor knows. A "
        "RuntimeClass that selects it can run what asks for a GPU.",
    )
    new_account_hours: float = Field(
        NEW_ACCOUNT_HOURS,
        ge=0,
        le=8760,
        description="A service account younger than this counts as new.",
    )


class CapacitySection(Section):
    """How often, and how fast, the nodes of the sandbox are looked at."""

    interval: float = Field(
        30,
        ge=5,
        le=300,
        description="Seconds from the end of one look to the next.",
    )
    nodes_per_second: float = Field(
        50,
        ge=1,
        le=1000,
        description="The most that are looked at, with a request each. A look is cut off after "
        "`interval` times as many nodes; the others come next.",
    )
