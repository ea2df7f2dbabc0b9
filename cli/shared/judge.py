"""A judge in the process of a command: no gate is asked."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from admission.judge import Judge
from app.settings.root import Settings
from app.wiring import CLUSTER_WAIT_S, make_engine, make_judge, open_cluster, require_answers
from policies import SHIPPED_PROFILES

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
        await require_answers(settings.kubeconfig)
    engine = make_engine(settings.bundle, settings.evaluation)
    try:
        async with open_cluster(settings, wait_s=CLUSTER_WAIT_S) as cluster:
            yield make_judge(cluster, engine, settings)
    finally:
        engine.close()
