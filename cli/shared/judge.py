"""A judge in the process of a command: no gate is asked."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from admission.judge import Judge
from app.settings.root import Settings
from app.wiring import make_engine, make_judge, open_cluster
from core.base.errors import SettingsError
from core.cluster import Cluster
from policies import SHIPPED_PROFILES

CLUSTER_WAIT_S: Final = 10.0
"""Seconds that a person waits until what is watched of a cluster has been loaded."""

BUDGET = 30.0
"""Seconds for one object."""


@asynccontextmanager
async def open_judge(settings: Settings) -> AsyncIterator[Judge]:
    """Yield a judge for a person who waits; without a cluster, one that knows what is shipped.

    Raises:
        CannotJudgeError: the cluster does not answer.
    """
    if settings.cluster is None and settings.kubeconfig is None:
        settings = settings.model_copy(update={"cluster": SHIPPED_PROFILES})
    if settings.kubeconfig is not None:
        from cli.shared.cluster_answers import require_answers  # noqa: PLC0415 (slow)

        await require_answers(settings.kubeconfig)
    engine = make_engine(settings.bundle, settings.evaluation)
    try:
        async with open_cluster(settings, wait_s=CLUSTER_WAIT_S) as cluster:
            yield make_judge(cluster, engine, settings)
    finally:
        engine.close()


def require_profile(cluster: Cluster, name: str, flag: str = "") -> None:
    """Demand that a profile exists; `flag`, with a space, is what named it.

    Raises:
        SettingsError: there is none of this name.
    """
    known = cluster.profiles().by_name
    if name not in known:
        raise SettingsError(f"{flag}{name}: no such profile; there are: {', '.join(known)}")
