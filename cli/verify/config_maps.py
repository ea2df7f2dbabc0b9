"""The settings of an installation's processes, as the chart keeps them in ConfigMaps."""

from http import HTTPStatus
from typing import Final

import msgspec

from core.base.errors import ClusterError
from core.base.json_errors import DECODE_ERRORS, decode_error
from kube.client.connection import Connection

_KEY: Final = "config.yaml"
_ANSWER_S: Final = 35.0


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] | None = None


class UnreadConfigError(Exception):
    """Settings could not be read; the text says of which ConfigMap, and why."""


class MissingConfigError(UnreadConfigError):
    """There is no such ConfigMap."""


async def read_config(connection: Connection, namespace: str, name: str) -> str:
    """Return `config.yaml` of the ConfigMap `name`.

    Raises:
        MissingConfigError: there is no such ConfigMap.
        UnreadConfigError: it could not be read, or has no such key.
    """
    what = f"ConfigMap {namespace}/{name}"
    path = f"/api/v1/namespaces/{namespace}/configmaps/{name}"
    try:
        read = msgspec.json.decode(await connection.get(path, _ANSWER_S, {}), type=_ConfigMap)
    except ClusterError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            raise MissingConfigError(f"{what}: there is none") from None
        raise UnreadConfigError(f"{what}: {error}") from None
    except DECODE_ERRORS as error:
        raise UnreadConfigError(str(decode_error(what, error))) from None
    config = (read.data or {}).get(_KEY)
    if config is None:
        raise UnreadConfigError(f"{what}: has no {_KEY}")
    return config
