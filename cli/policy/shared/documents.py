"""What commands of `sallyport policy` print with `-o json` of a bundle, or of a new rule."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from core.base.times import time_text
from policies.bundle.format import Bundle

FORMAT: Final = 1


class LeftOut(msgspec.Struct, frozen=True):
    """A case that a bundle does not carry."""

    file: str
    name: str
    why: str


class MadeBundle(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What `policy build`, `policy sign` and `policy fetch` print with `-o json`."""

    format: int = FORMAT
    file: str
    revision: str
    digest: str
    """SHA-256 of the file, in hex."""
    engine: str
    """What it is for: `embedded`, also taken by an OPA server, or `opa` alone."""
    signed: bool
    """Whether it was signed now, or its signature was checked by a key of the settings."""
    key_id: str = ""
    """Of the key, where it has one."""
    rules: int = 0
    """Of the site, and those chosen of the library."""
    built_at: str = ""
    """RFC 3339: when it says that it was built; empty where it does not."""
    cases: int = 0
    """That it carries: judged wherever it is loaded."""
    left_out: list[LeftOut] = []
    """Cases of the site's folders that it does not carry."""


class Activation(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What `policy activate` and `policy rollback` print with `-o json`."""

    format: int = FORMAT
    namespace: str
    wanted: str
    """A revision, or `base`; empty where a file was refused here: nothing has changed then."""
    before: str
    """What was active when it was wanted."""
    active: bool
    """Whether what is wanted is active; without --wait it is not waited for."""
    refused: str = ""
    """Who refuses it, and why."""
    problem: str = ""
    """Why it is not known to be active, though it is wanted: not in time, or nobody answers."""


class Begun(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What `policy new` prints with `-o json`."""

    format: int = FORMAT
    id: str
    """`rules/CATEGORY/NAME`, or `sandbox/FAMILY/NAME` of a signal."""
    files: list[str]


def made_bundle(
    file: Path, bundle: Bundle, *, signed: bool, key_id: str = "", left_out: Sequence[LeftOut] = ()
) -> MadeBundle:
    """Say of a bundle what programs want to know."""
    return MadeBundle(
        file=str(file),
        revision=bundle.revision,
        digest=bundle.digest,
        engine=bundle.engine,
        signed=signed,
        key_id=key_id,
        rules=sum(rule.site for rule in bundle.rules.values()),
        built_at=time_text(bundle.built_at) if bundle.built_at else "",
        cases=len(bundle.cases),
        left_out=list(left_out),
    )
