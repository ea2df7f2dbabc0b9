"""Checks a bundle before it is published, as a gate checks it before it puts it in force."""

import time
from dataclasses import dataclass
from typing import Final

from app.settings.root import Settings
from app.wiring import load_engine
from core.base.times import time_text
from core.policy_bundles import PublishedBundle
from policies import BUILT_IN_BUNDLE
from policies.bundle.format import Bundle, parse_bundle, read_bundle, wording_refusals
from policies.bundle.signatures import read_keys
from policies.engine.cache import RememberingEngine
from policies.engine.forbidden_calls import refuse_outside
from policies.trial.evaluation import LocalTrial, Trial, find_foreign

HERE: Final = LocalTrial()


@dataclass(frozen=True)
class CheckedBundle:
    """A bundle that may be published."""

    bundle: Bundle
    packed: bytes
    foreign: tuple[str, ...]
    """Paths of built-in policies in it that are not this release's, or are missing from it."""

    def stored(self, source: str) -> PublishedBundle:
        """Say of it what the head says; `source` is where it came from, for people."""
        at = time_text(time.time())
        bundle = self.bundle
        return PublishedBundle(bundle.revision, bundle.digest, 0, 1, at, source, bundle.built_at)


def check_bundle(
    packed: bytes, path: str, settings: Settings, trial: Trial = HERE
) -> CheckedBundle:
    """Check the file of a bundle, of which messages speak as `path`.

    One that was built for an OPA server alone is not evaluated here: each gate asks its own. Others
    are tried out in `trial`.

    Raises:
        BundleRefusedError: a gate would refuse it; says why.
        SettingsError: a key cannot be read.
    """
    keys = read_keys(settings.bundles.keys)
    bundle, built_in = parse_bundle(packed, path, keys), read_bundle(BUILT_IN_BUNDLE)
    if bundle.engine == "opa":
        with wording_refusals():
            refuse_outside(bundle)
        return CheckedBundle(bundle, packed, find_foreign(bundle, built_in))
    evaluation = settings.evaluation.model_copy(update={"engine": "embedded"})

    def make(of: Bundle) -> RememberingEngine:
        return load_engine(of, evaluation)

    tried = trial.try_out(bundle, make, [], built_in)
    tried.engine.close()
    return CheckedBundle(bundle, packed, tried.foreign)
