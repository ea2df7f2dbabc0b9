"""Finds out that etcd was restored from a backup: kube-apiserver is not as far as it was.

It takes a watch from a version that is yet to come, and says nothing until that has come: what was
undone would count on, and what is done meanwhile not be heard of. Versions grow (Kubernetes'
KEP 5504). A watch lasts a minute, so this is asked once a minute of each.
"""

from collections.abc import Mapping

import msgspec

from core.base.errors import ClusterError
from kube.client.connection import Connection
from kube.watch.protocol import List


async def went_back(
    connection: Connection,
    path: str,
    version: str,
    timeout_s: float,
    selecting: Mapping[str, str] | None = None,
) -> str:
    """Give the version of a collection where it is an older one than `version`; else nothing.

    Raises:
        ClusterError: kube-apiserver does not answer, or refuses.
    """
    body = await connection.get(path, timeout_s, {**(selecting or {}), "limit": "1"})
    try:
        now = msgspec.json.decode(body, type=List).metadata.resource_version
    except msgspec.DecodeError as error:
        raise ClusterError(f"{path}: not a List of Kubernetes: {error}") from error
    numbers = now.isdecimal() and version.isdecimal()
    return now if numbers and int(now) < int(version) else ""
