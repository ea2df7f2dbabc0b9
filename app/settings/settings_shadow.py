"""The section of the settings for a bundle that rides along."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class Shadow(BaseModel):
    """A candidate bundle that judges live reviews too: what it would change is counted only."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    bundle: Path | None = Field(None, description="The candidate; without it none rides along.")
    budget: float = Field(
        0.05, gt=0, le=1, description="Share of a core that it may take; beyond it, it samples."
    )
