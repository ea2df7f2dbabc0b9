"""What every engine is and answers. All give the same answer for the same projection."""

from collections.abc import Mapping
from typing import Final, Protocol, runtime_checkable

import msgspec

from core.decision.decision import Denial, Need
from core.sandbox.decision import Feature, Signal
from policies.bundle.format import Rule
from policies.site.fields import NO_FIELDS, POD, DeclaredFields


class PolicyAnswer(msgspec.Struct, frozen=True, gc=False):
    """What the policies say of one projection."""

    needs: tuple[Need, ...]
    """Ordered by path, then by rule."""
    denials: tuple[Denial, ...] = ()
    """Ordered so too."""
    signals: tuple[Signal, ...] = ()
    """What makes the object riskier; ordered so too."""
    features: tuple[Feature, ...] = ()
    """What it uses that some sandbox cannot run; ordered by path, then by name."""


class Judgement(msgspec.Struct, frozen=True, gc=False):
    """What the policies say of one request, beside what they say of its object."""

    signals: tuple[Signal, ...] = ()
    """What makes it riskier; ordered by path, then by rule."""
    denials: tuple[Denial, ...] = ()
    """What a site's rules deny; ordered so too."""
    warnings: tuple[Denial, ...] = ()
    """What they warn of; ordered so too."""


class ShownFields(msgspec.Struct, frozen=True, gc=False):
    """What a site's rules see of an object besides its projection."""

    kind: str = POD
    """`Pod`, also of a template of one; `Service`, `networking.k8s.io/Ingress` …."""
    fields: bytes = NO_FIELDS
    """The fields that they declare, as JSON."""


A_POD: Final = ShownFields()
"""A Pod of which no field is declared."""


class Engine(Protocol):
    """Evaluates the bundle it was made with."""

    @property
    def revision(self) -> str:
        """The revision of the bundle in force."""

    @property
    def rules(self) -> Mapping[str, Rule]:
        """What the METADATA of its rules says, by rule id."""

    @property
    def reads(self) -> DeclaredFields:
        """What the rules of the site in it look at."""

    async def ask(self, projection: bytes) -> PolicyAnswer:
        """Return what an object needs, what it may never have, how risky it is and what it uses.

        Raises:
            EvaluationError: the policies failed, or exceeded their time or memory.
        """

    async def judge(
        self, projection: bytes, answer: PolicyAnswer, context: bytes, shown: ShownFields = A_POD
    ) -> Judgement:
        """Return what makes a request risky that its object alone does not show, and what is wrong.

        `projection` is what `ask` was given, `answer` what it gave, and `context` what
        `policies.projection.model.encode_context` makes.

        Raises:
            EvaluationError: the policies failed, or exceeded their time or memory.
        """

    def close(self) -> None:
        """Free what the engine holds."""


@runtime_checkable
class RemoteEngine(Protocol):
    """Of an engine that evaluates elsewhere: it may be away."""

    def missing(self) -> list[str]:
        """Name what it lacks to evaluate, for a person; empty when nothing."""
