"""Opens the anchors of the setting `ledger.anchors`, for the auditor."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from app.entra_tokens import token_for
from app.settings.root import Settings
from app.settings.settings_anchors import AnchorPlace
from audit.clients.anchor_blob import BlobAnchor, BlobPlace
from audit.clients.anchor_config_map import ConfigMapAnchor
from audit.ledger.log.anchor_file import FileAnchor
from audit.ledger.log.anchors import Anchor
from core.base.errors import LedgerError

_SIGNING_IN: Final = "signing in for an anchor"


@asynccontextmanager
async def open_anchors(settings: Settings) -> AsyncIterator[list[Anchor]]:
    """Give the anchors of the settings; nothing is asked of them yet.

    Raises:
        SettingsError: one cannot be what it is said to be.
    """
    async with AsyncExitStack() as stack:
        yield [_anchor(place, settings, stack) for place in settings.ledger.anchors]


def _anchor(place: AnchorPlace, settings: Settings, stack: AsyncExitStack) -> Anchor:
    if place.file is not None:
        return FileAnchor(place.file)
    if place.blob is not None:
        token = token_for(_SIGNING_IN, LedgerError, settings, stack)
        blob = BlobAnchor(BlobPlace(place.blob, settings.identity.trust), token)
        stack.push_async_callback(blob.close)
        return blob
    namespace, _, name = (place.config_map or "").partition("/")
    assert place.kubeconfig is not None  # noqa: S101  AnchorPlace demands it.
    config_map = ConfigMapAnchor(place.kubeconfig, namespace, name)
    stack.push_async_callback(config_map.close)
    return config_map
