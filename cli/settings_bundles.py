"""Settings of policy bundles that come while the process runs."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

_KeyId = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,63}$")]


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
