"""Reads whole lists of a real cluster page by page, for commands that a person waits for."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Final

import msgspec

from core.base.errors import ClusterError
from kube.client.connection import Connection
from kube.client.objects import Objects

PAGE: Final = 500
_TIMEOUT_S: Final = 10.0


@asynccontextmanager
async def open_objects(kubeconfig: Path | None) -> AsyncIterator[Objects]:
    """Give the objects of the cluster of a kubeconfig.

    Raises:
        SettingsError: the credentials are missing or broken.
    """
    connection = Connection(kubeconfig)
    await connection.open()
    try:
        yield Objects(connection, _TIMEOUT_S)
    finally:
        await connection.close()


async def each(
    objects: Objects,
    collection: str,
    page_size: int = PAGE,
    parameters: Mapping[str, str] | None = None,
) -> AsyncIterator[msgspec.Raw]:
    """Yield each object of a list, read page by page; `parameters` say which, and how.

    Where a list takes so long that kube-apiserver forgets how it was (410), it goes on in the
    cluster as it is by then.

    Raises:
        ClusterError: kube-apiserver does not answer, or refuses.
    """
    token = ""
    while True:
        try:
            page = await objects.page(collection, page_size, token, parameters)
        except ClusterError as error:
            if error.status != HTTPStatus.GONE or not error.continue_token:
                raise
            token = error.continue_token
            continue
        for item in page.items:
            yield item
        token = page.continue_token
        if not token:
            return
