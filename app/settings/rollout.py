"""The section of the settings that says how modes are rolled out over namespaces."""

from typing import Literal, Self

from pydantic import Field, model_validator

from app.settings.section import Section
from core.decision.namespaces import Mode, parse_moment


class RolloutSection(Section):
    """What beside their labels decides in which mode namespaces are."""

    least: Mode = Field(
        Mode.AUDIT, description="The mildest mode of any namespace, whatever its label says."
    )
    new: Literal["", "enforce", "warn", "audit"] = Field(
        "",
        description="For namespaces without the label that were made since `new_since`; empty: "
        "`default_mode`.",
    )
    new_since: str = Field(
        "",
        pattern=r"^([0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
        r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](Z|[+-][0-9]{2}:[0-9]{2}))?$",
        description="A time with its zone, such as 2026-12-01T00:00:00Z; together with `new`.",
    )

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if bool(self.new) is not bool(self.new_since):
            problem = "new and new_since come together: set both, or neither"
            raise ValueError(problem)
        if self.new_since and parse_moment(self.new_since) is None:
            problem = f"new_since: {self.new_since} is no time that a calendar and a clock have"
            raise ValueError(problem)
        return self
