"""Asks a cluster once, before a command watches it."""

from pathlib import Path
from typing import Final

from core.base.errors import ClusterError, NotSyncedError
from kube.client.connection import Connection
from kube.cluster.live import PROFILES_PATH
from kube.resources.paths import NAMESPACES_PATH
from kube.resources.persistent_volumes import VOLUMES_PATH

_ANSWER_S: Final = 5.0
"""Seconds that a person waits for the first answer of a cluster."""


async def require_answers(kubeconfig: Path) -> None:
    """Ask once for all that is watched: a command that a person waits for does not try again.

    Raises:
        NotSyncedError: the cluster does not answer, or refuses.
        SettingsError: the credentials are missing or broken.
    """
    connection = Connection(kubeconfig)
    await connection.open()
    try:
        for path in ("/version", PROFILES_PATH, NAMESPACES_PATH, VOLUMES_PATH):
            await connection.get(path, _ANSWER_S, {"limit": "1"})
    except ClusterError as error:
        raise NotSyncedError(f"--kubeconfig {kubeconfig}: {error}") from error
    finally:
        await connection.close()
