"""What all sections of the settings have in common."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Refuses a key that it does not know, and does not change once it is read."""

    model_config = ConfigDict(extra="forbid", frozen=True)
