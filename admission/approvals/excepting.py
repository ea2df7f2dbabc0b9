"""Judges an object again for what exceptions leave of its needs."""

from dataclasses import dataclass

import msgspec

from admission.approvals.exceptions import Excused, Excuser, idle, naming
from admission.model.candidates import candidates
from admission.model.facts import Facts
from admission.profiles.access_reviews import Rights
from admission.profiles.needing import ask_usable, denied, since
from core.decision.document import DecisionDocument
from core.decision.request import Request
from policies.engine.interface import PolicyAnswer


@dataclass(frozen=True)
class Excepting:
    """Puts exceptions into the facts, where an object would be refused without them."""

    excuser: Excuser

    async def facts_of(self, request: Request, facts: Facts, answer: PolicyAnswer) -> Facts:
        """Give the facts after exceptions.

        Raises:
            CannotJudgeError: something that must be known cannot be.
        """
        standing = self.excuser.standing(request, facts)
        if not (standing and facts.pod):
            return facts
        meant = naming(standing, request, facts.root)
        if not meant:
            return facts
        excused = await self.excuser.excuse(meant, answer.needs, answer.denials)
        denials = tuple(denied(denial, facts.rules) for denial in excused.denials)
        pod = msgspec.structs.replace(facts.pod, denials=denials)
        told = (*facts.asides, *(idle(name, why) for name, why in excused.idle))
        asides = tuple(dict.fromkeys(told))
        facts = msgspec.structs.replace(facts, pod=pod, asides=asides)
        return await self._left(excused, facts)

    async def facts_again(
        self, request: Request, facts: Facts, document: DecisionDocument
    ) -> Facts:
        """Give the facts after those exceptions that a recorded decision used, as they are now.

        Raises:
            CannotJudgeError: something that must be known cannot be.
        """
        standing = self.excuser.standing(request, facts) if document.exceptions else ()
        used = [each for each in standing if each.id in document.exceptions]
        if not (used and facts.pod):
            return facts
        return await self._left(await self.excuser.excuse(used, facts.pod.needs, ()), facts)

    async def _left(self, excused: Excused, facts: Facts) -> Facts:
        pod, origin = facts.pod, facts.origin
        if pod is None or not excused.used:
            return facts
        privileges = since(excused.needs, facts.rules)
        tried = candidates(facts.profiles, facts.namespace, privileges)
        rights = Rights(self.excuser.cluster, pod.subjects, pod.namespace)
        may_use = await ask_usable(pod.named, tried, rights, facts.mode)
        left = msgspec.structs.replace(
            pod,
            needs=excused.needs,
            privileges=frozenset(privileges),
            candidates=tried,
            usable=may_use,
            access=(*pod.access, *rights.heard),
            exceptions=excused.used,
            excused=tuple(need for need in pod.needs if need not in excused.needs),
        )
        if origin and origin.gaps:
            gaps = origin.gaps - (pod.privileges - left.privileges)
            origin = msgspec.structs.replace(origin, gaps=gaps)
        return msgspec.structs.replace(facts, pod=left, origin=origin)
