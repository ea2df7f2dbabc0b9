"""When each ServiceAccount (core/v1) was made, in memory: a name and a number of each.

Measured at 50,000 in 2,000 namespaces, against kube-apiserver 1.36: the first list takes 0.4 s of
CPU here and 3.5 s in all, 28 MB are sent, and 8.5 MB of resident memory are added; 14.4 MB once it
was listed again, which holds both for a moment. The metadata alone (`PartialObjectMetadataList`)
is larger, 31 MB, since each item then names its kind, and takes as much memory: it is not used.
"""

import datetime as dt
from typing import Annotated, Final

import msgspec

from core.decoding import UNREADABLE, unreadable
from kube.connection import Connection
from kube.listwatch import Resource
from kube.settings import LiveSettings
from kube.watched import Watched

KIND: Final = "ServiceAccount"
SERVICE_ACCOUNTS_PATH: Final = "/api/v1/serviceaccounts"


class _Meta(msgspec.Struct, rename="camel"):
    creation_timestamp: Annotated[dt.datetime, msgspec.Meta(tz=True)]


class _Envelope(msgspec.Struct):
    metadata: _Meta


_DECODER = msgspec.json.Decoder(_Envelope)


def parse_made(raw: bytes | msgspec.Raw) -> float:
    """Read from a ServiceAccount's JSON when it was made, in Unix seconds.

    Raises:
        InvalidObjectError: with the field's path and what it must be.
    """
    try:
        return _DECODER.decode(raw).metadata.creation_timestamp.timestamp()
    except UNREADABLE as error:
        raise unreadable(KIND, error) from error


class WatchedServiceAccounts(Watched[float]):
    """Those of a real cluster."""

    def __init__(self, connection: Connection, settings: LiveSettings) -> None:
        resource = Resource("ServiceAccounts", SERVICE_ACCOUNTS_PATH, parse_made)
        super().__init__(connection, settings, resource)

    def made(self, namespace: str, name: str) -> float | None:
        """Give when one was made, in Unix seconds; None where it is not known yet.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """
        self._watch.require()
        return self._watch.objects.get(f"{namespace}/{name}")
