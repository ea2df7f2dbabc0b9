"""Gathers what decides about the sandbox of an object, where anybody may ask for one.

It reads memory: the cluster's RuntimeClasses (a dozen), exceptions and their approvals. Where no
profile, no namespace and no author asks for a sandbox it costs a look at the Pod's labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from admission.excusing import Excuser, idle, naming
from admission.facts import Facts, SandboxFacts, SandboxPart
from admission.isolated import decide, mode_of, must, weigh_parts
from admission.parts import Part, Reading, asks
from core.decision import Denial
from core.exceptions import PolicyException
from core.pod import Pod
from core.request import Request
from core.sandbox import REQUIRED
from core.two_person import NotApproved
from policies.engine import Answer
from sandbox.choosing import Site

_DEMAND: Final = Denial(REQUIRED, "")
"""What an exception excuses."""

_with = msgspec.structs.replace


def may_be_asked(reading: Reading, facts: Facts) -> bool:
    """Say whether a profile, the namespace or the author may ask that the Pods be sandboxed."""
    if not reading.pods:
        return False
    return facts.may_isolate or any(asks(pod) for pod in reading.pods)


@dataclass(frozen=True)
class Isolating:
    """Knows the sandboxes of the cluster, and what is excused from them."""

    excuser: Excuser
    site: Site

    async def facts_of(
        self, request: Request, reading: Reading, answers: Sequence[Answer], facts: Facts
    ) -> Facts:
        """Add what decides about the sandbox, after exceptions.

        Raises:
            CannotJudgeError: something that must be known cannot be.
        """
        pod = facts.pod
        if pod is None:
            return facts
        together = zip(reading.parts, reading.pods, answers, strict=True)
        parts = tuple(_part(part, each, answer) for part, each, answer in together)
        mode = mode_of(request, facts)
        weighed = weigh_parts(parts, pod, facts, self.site)
        wanted = any(must(part, mode, w, self.site) for part, w in zip(parts, weighed, strict=True))
        cluster = self.excuser.cluster
        runtimes = self.site.runtimes if wanted else ()
        classes = {name: cluster.runtime_class(name) for name in runtimes}

        def known(*, excused: bool) -> Facts:
            decided = tuple(
                decide(part, w, mode, self.site, classes, excused=excused)
                for part, w in zip(parts, weighed, strict=True)
            )
            return _with(facts, pod=_with(pod, sandbox=SandboxFacts(decided, reading.root)))

        found = known(excused=False)
        if not wanted:
            return found
        by, asides = await self._in_force(request, found)
        if by is None:
            return _with(found, asides=(*found.asides, *asides)) if asides else found
        found = known(excused=True)
        if found.pod is None or by in found.pod.exceptions:
            return found
        return _with(found, pod=_with(found.pod, exceptions=(*found.pod.exceptions, by)))

    async def _in_force(
        self, request: Request, facts: Facts
    ) -> tuple[PolicyException | None, list[str]]:
        """Give the exception that takes the demand away; of those that would, why they do not."""
        asides = []
        for exception in self._naming(request, facts):
            answer = await self.excuser.standing_of(exception)
            if not isinstance(answer, NotApproved):
                return exception, []
            asides.append(idle(exception.meta.name, answer.reasons[0]))
        return None, asides

    def _naming(self, request: Request, facts: Facts) -> list[PolicyException]:
        """Give the exceptions that name the rule, and the object or what it comes from.

        Raises:
            NotSyncedError: they are not known, and it would be refused without them.
        """
        found = self.excuser.known(request, facts)
        meant = [e for e in found if any(one.excuses_denial(_DEMAND) for one in e.spec.excuses)]
        return naming(meant, request, facts.origin.root if facts.origin else None)


def _part(part: Part, pod: Pod, answer: Answer) -> SandboxPart:
    return SandboxPart(
        template=part.template,
        named=pod.spec.runtime_class_name,
        asked=asks(pod),
        needs=answer.needs,
        signals=answer.signals,
        features=answer.features,
    )
