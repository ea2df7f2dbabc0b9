"""The section `weights.azure` of the settings: role assignments that open WeightStores."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from app.settings.identity import IdentitySection
from app.settings.messages import name_setting
from app.settings.section import Section
from core.base.errors import SettingsError
from identity.entra.endpoints import AUTHORITY, RESOURCE_MANAGER

_GUID: Final = r"^([0-9A-Fa-f]{8}-([0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12})?$"
_SITE: Final = r"^https://[A-Za-z0-9.-]+(:[0-9]{1,5})?$"


class AzureRoles(Section):
    """Who can open each WeightStore by Azure's role assignments. Without it nobody looks."""

    enabled: bool = Field(
        default=False, description="Whether role assignments of WeightStores are read."
    )
    tenant: str = Field("", pattern=_GUID, description="The tenant; without it `identity.tenant`.")
    client_id: str = Field(
        "", pattern=_GUID, description="As whom; without it `identity.client_id`. It needs Reader."
    )
    credential: Literal["federated", "managed-identity"] = Field(
        "federated", description="How it signs in."
    )
    token_file: Path | None = Field(
        None, description="The federated token; without it that of `AZURE_FEDERATED_TOKEN_FILE`."
    )
    authority: str = Field(AUTHORITY, pattern=_SITE, description="Where it signs in.")
    manager: str = Field(RESOURCE_MANAGER, pattern=_SITE, description="Azure Resource Manager.")
    trust: Path | None = Field(None, description="CA (PEM) of both; without it the public ones.")
    every: float = Field(300.0, ge=30, le=86_400, description="Seconds between readings.")
    just_in_time: bool = Field(
        default=False,
        description="Whether role assignments are made when a grant begins to count, and removed "
        "when it ends; it needs Role Based Access Control Administrator on the containers.",
    )


def require_azure_sign_in(section: AzureRoles, identity: IdentitySection) -> None:
    """Demand that it is known as whom Azure is asked.

    Raises:
        SettingsError: naming what is missing.
    """
    if problems := list(_problems(section, identity)):
        raise SettingsError("; ".join(problems))


def _problems(section: AzureRoles, identity: IdentitySection) -> Iterator[str]:
    for name in ("tenant", "client_id"):
        if not (getattr(section, name) or getattr(identity, name)):
            yield f"{name_setting(f'weights.azure.{name}')}: missing; say as whom Azure is asked"
