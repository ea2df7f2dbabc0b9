"""Whether the auditor demands that gates prove which they are, by its ConfigMap."""

from typing import Final

import yaml

from app.settings.root import Settings
from cli.verify.config_maps import MissingConfigError, UnreadConfigError, read_config
from kube.client.connection import Connection

_CONFIG_MAP: Final = "sallyport-auditor"

NOT_DEMANDED: Final = (
    "the auditor takes decisions without proof of which gate took them "
    "(auditor.gateInstances=check): once every gate is of this release, set it to require "
    "(docs/operate/upgrade.md#gates-that-prove-which-they-are)"
)


async def note_proof(settings: Settings, connection: Connection) -> list[str]:
    """Return a note where the auditor demands no proof, or where that is not known.

    Without an auditor in the cluster there is nothing to say.
    """
    try:
        demanded = demands_proof(await read_config(connection, settings.namespace, _CONFIG_MAP))
    except MissingConfigError:
        return []
    except UnreadConfigError as error:
        return [f"whether the auditor demands that gates prove themselves is not known: {error}"]
    if demanded is None:
        what = f"ConfigMap {settings.namespace}/{_CONFIG_MAP}: it holds no settings"
        return [f"whether the auditor demands that gates prove themselves is not known: {what}"]
    return [] if demanded else [NOT_DEMANDED]


def demands_proof(config: str) -> bool | None:
    """Return False where an auditor with this `config.yaml` takes decisions without proof.

    `off` is an operator's own choice, and needs no reminder. None where the file cannot be read.
    Pure.
    """
    try:
        read = yaml.safe_load(config)
        receive = ({} if read is None else read).get("receive") or {}
        return bool(receive.get("instances") != "check")
    except (AttributeError, yaml.YAMLError):
        return None
