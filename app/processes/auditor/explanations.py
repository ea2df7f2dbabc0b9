"""Explanations that people ask the auditor for themselves, where a port is set for them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from structlog.typing import FilteringBoundLogger

from app.settings.messages import name_setting
from app.settings.root import Settings
from audit.ledger.server.explanations import ExplanationService, ExplanationSources
from audit.ledger.store.store import Store
from core.base import names
from core.base.errors import SettingsError
from core.people.subject import Subject
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.client.token_reviews import TokenReviews
from kube.cluster.access_reviews import AccessQuestion, AccessReviews
from webhooks.server import ServedApp, serve_side_listener
from webhooks.tls import PairWatcher, TlsSettings

_ANSWER_S: Final = 3.0
"""The longest that kube-apiserver may take for one question."""


@asynccontextmanager
async def serving_explanations(
    settings: Settings, store: Store, tls: TlsSettings, logger: FilteringBoundLogger
) -> AsyncIterator[None]:
    """Answer who asks for a decision, while the context lasts; nobody where no port is set.

    The certificate is that by which records are taken; no client needs one here.

    Raises:
        SettingsError: it is not said which cluster's tokens these are, or how to reach it.
    """
    section = settings.explain
    if section.port is None:
        yield
        return
    if not settings.cluster_id:
        message = "needed where explain.port is set: decisions of other clusters are not told"
        raise SettingsError(f"{name_setting('cluster_id')}: {message}")
    connection = Connection(settings.kubeconfig)
    await connection.open()
    try:
        sources = _sources(settings, store, connection)
        served = ServedApp(
            ExplanationService(sources, logger), "explanations", name_setting("explain.port")
        )
        pair = PairWatcher(TlsSettings(tls.certificate, tls.key), logger)
        listening = serve_side_listener(served, section.host, section.port, pair, logger)
        task = asyncio.create_task(listening)
        task.add_done_callback(partial(_note_end, logger))
        await asyncio.sleep(0)
        if task.done():
            task.result()  # The address is taken, or wrong.
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    finally:
        await connection.close()


def _note_end(logger: FilteringBoundLogger, task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("explanations are served no more", exc_info=error)


def _sources(settings: Settings, store: Store, connection: Connection) -> ExplanationSources:
    reviews = AccessReviews(connection, LiveSettings(review_timeout_s=_ANSWER_S))

    async def may_review(subject: Subject) -> bool:
        question = AccessQuestion(subject, names.REVIEW_VERB, names.DECISIONS_RESOURCE, "", "")
        return await reviews.ask(question)

    return ExplanationSources(
        find=store.get,
        whose=TokenReviews(connection, _ANSWER_S).review,
        may_review=may_review,
        cluster=settings.cluster_id,
        names=settings.record.people == "name",
    )
