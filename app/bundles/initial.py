"""The bundle in force in a process, and what it follows: a file, or ConfigMaps."""

import os
import platform
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from admission.bundles.active import ActiveJudge, BundleLoader, MakeJudge
from admission.bundles.watch import BundleWatch
from app.settings.root import Settings
from app.wiring import limits_of, load_engine
from core.base.background import in_background
from kube.bundles.watch import PublishedBundles
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from policies import BUILT_IN_BUNDLE
from policies.bundle.file_source import FileSource
from policies.bundle.format import Bundle, read_bundle
from policies.bundle.signatures import read_keys
from policies.engine.cache import RememberingEngine
from policies.trial.evaluation import LocalTrial, find_foreign
from policies.trial.process import ProcessTrial


def load_initial_bundle(
    settings: Settings,
    observe: Callable[[float], None] = lambda _: None,
    *,
    announces: bool = False,
) -> "InitialBundle":
    """Load the bundle of the settings, as the first in force.

    Raises:
        BundleRefusedError: it cannot be put in force.
        SettingsError: a key cannot be read.
    """
    keys = read_keys(settings.bundles.keys)
    source = FileSource(settings.bundle, keys) if settings.bundle else None
    bundle = source.read() if source else read_bundle(BUILT_IN_BUNDLE)
    make = partial(load_engine, evaluation=settings.evaluation, observe=observe)
    return InitialBundle(settings, bundle, source, make, announces=announces)


class InitialBundle:
    """What there is before the cluster is open: the first engine."""

    def __init__(
        self,
        settings: Settings,
        bundle: Bundle,
        source: FileSource | None,
        make: Callable[[Bundle], RememberingEngine],
        *,
        announces: bool,
    ) -> None:
        self._settings = settings
        self._bundle = bundle
        self._source = source
        self._make = make
        self._name = _own_name() if announces else ""
        self._embedded = settings.evaluation.engine == "embedded"
        self.engine = make(bundle)
        """Whoever began closes it where `following` was never entered."""

    @asynccontextmanager
    async def following(self, make_judge: MakeJudge) -> AsyncIterator[BundleWatch]:
        """Judge by it, and follow what is to be in force; all engines are closed at the end.

        Raises:
            SettingsError: points are set of a rule that there is not.
        """
        settings = self._settings
        in_force = ActiveJudge(self.engine, make_judge)
        trial = ProcessTrial(limits_of(settings.evaluation)) if self._embedded else LocalTrial()
        bundles = BundleLoader(in_force, self._make, read_bundle(BUILT_IN_BUNDLE), trial)
        bundles.foreign = len(find_foreign(self._bundle, bundles.built_in))
        following = BundleWatch(
            bundles,
            self._bundle,
            self._source,
            read_keys(settings.bundles.keys),
            self._name,
            settings.bundles.poll,
        )
        connection = None
        if settings.cluster is None:
            connection = Connection(settings.kubeconfig)
            await connection.open()
            live = LiveSettings(namespace=settings.namespace)
            following.follow_published(PublishedBundles(connection, live, following.wake))
        try:
            async with in_background(following.run()):
                yield following
        finally:
            if connection is not None:
                await connection.close()
            await bundles.close()


def _own_name() -> str:
    """Name this process as its Pod is named; on a machine with several, by its id too."""
    number = os.getpid()
    return platform.node().lower() + ("" if number == 1 else f"-{number}")
