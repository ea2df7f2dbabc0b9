"""Which mode holds in the namespaces of a cluster: by the gate's own settings.

The chart keeps them in a ConfigMap; whoever may not read it goes by settings of their own.
"""

from typing import Any, Final, Protocol

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from app.settings.rollout import RolloutSection
from app.settings.root import Settings
from app.wiring import modes_of
from core.base.errors import ClusterError
from core.decision.namespaces import Mode, Modes

_CONFIG: Final = "sallyport-gate"
_FILE: Final = "config.yaml"


class _Kept(BaseModel):
    """What of the gate's settings decides modes."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    default_mode: Mode = Mode.ENFORCE
    rollout: RolloutSection = RolloutSection()


class ObjectReader(Protocol):
    """Reads single objects of a cluster, as `kube.client.objects.Objects` does."""

    async def get(self, path: str) -> dict[str, Any] | None:
        """Return an object; None where there is none."""


async def read_modes(objects: ObjectReader, settings: Settings) -> tuple[Modes, list[str]]:
    """Return which mode holds where, with a note where only `settings` say it."""
    path = f"/api/v1/namespaces/{settings.namespace}/configmaps/{_CONFIG}"
    try:
        found = await objects.get(path)
        text = (found or {}).get("data", {}).get(_FILE)
        if text is None:
            problem = "there is none"
        else:
            kept = _Kept.model_validate(yaml.safe_load(text) or {})
            return modes_of(kept.rollout, kept.default_mode), []
    except ClusterError as error:
        problem = str(error)
    except (ValidationError, yaml.YAMLError):
        problem = f"its {_FILE} cannot be read"
    return modes_of(settings.rollout, settings.default_mode), [
        f"modes of namespaces without the label are by this command's own settings: ConfigMap "
        f"{settings.namespace}/{_CONFIG}: {problem}"
    ]
