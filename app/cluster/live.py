"""Opens the real cluster that the settings name."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from app.settings.identity import require_tenant
from app.settings.root import Settings
from kube.client.settings import DefaultDeny, LiveSettings
from kube.cluster.live import LiveCluster


@asynccontextmanager
async def open_live(
    settings: Settings, default_deny: DefaultDeny | None = None, *, statuses: bool = False
) -> AsyncIterator[LiveCluster]:
    """Yield the real cluster that the settings name, started; stop it at the end.

    `statuses` is whether it keeps those of what needs approval, to write them.

    Raises:
        SettingsError: the credentials are missing or broken, or risk decides and no tenant is
            named.
    """
    live = replace(_live_settings(settings), default_deny=default_deny, statuses=statuses)
    cluster = LiveCluster(settings.kubeconfig, live)
    await cluster.start()
    try:
        yield cluster
    finally:
        await cluster.stop()


def _live_settings(settings: Settings) -> LiveSettings:
    require_tenant(settings.identity)
    return LiveSettings(
        namespace=settings.namespace,
        risk=settings.identity.enabled,
        max_staleness_s=settings.max_staleness,
        allow_age_s=settings.access.allow_age,
        deny_age_s=settings.access.deny_age,
        review_timeout_s=settings.access.timeout,
    )
