"""Policy bundles for tests that need several: the built-in one under other titles."""

import msgspec

from core.policy_bundles import PublishedBundle
from policies import BUILT_IN_BUNDLE
from policies.bundle.format import FORMAT, Manifest, parse_bundle, read_bundle, with_manifest


def retitled(number: int, built_at: int = 0) -> bytes:
    """Return a bundle of its own revision that judges as the built-in one does.

    `built_at` is what it says of when it was built, in Unix seconds.
    """
    rules = [
        msgspec.structs.replace(rule, title=f"{rule.title} {number}")
        for rule in read_bundle(BUILT_IN_BUNDLE).rules.values()
    ]
    manifest = Manifest(FORMAT, rules, built_at=built_at)
    return with_manifest(BUILT_IN_BUNDLE.read_bytes(), manifest, {})


def revision_of(packed: bytes) -> str:
    """Return a bundle's revision."""
    return parse_bundle(packed, "bundle").revision


def stored(packed: bytes, slot: int = 0, parts: int = 1) -> PublishedBundle:
    """Say what is published of a bundle."""
    found = parse_bundle(packed, "bundle")
    return PublishedBundle(found.revision, found.digest, slot, parts)
