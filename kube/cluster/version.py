"""The version of a cluster, which decides what relaxations of Pod Security it knows."""

import msgspec

from core.profiles.container_profiles import Version, parse_version
from kube.client.connection import Connection


class _ServerVersion(msgspec.Struct):
    major: str
    minor: str


async def read_version(connection: Connection, timeout_s: float) -> Version:
    """Ask for `/version`.

    Raises:
        ClusterError: no answer in time, or a failure.
        InvalidObjectError: it is no version.
        msgspec.DecodeError: the answer is something else.
    """
    body = await connection.get("/version", timeout_s, {})
    read = msgspec.json.decode(body, type=_ServerVersion)
    return parse_version(f"{read.major}.{read.minor}", field="/version", what="cluster")
