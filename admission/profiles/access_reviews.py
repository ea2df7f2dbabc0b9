"""Asks who may use which profiles, no more than a decision needs, and keeps the answers."""

import asyncio
from collections.abc import Sequence
from itertools import islice
from typing import Final

import msgspec

from admission.model.candidates import Candidate, Candidates
from admission.model.facts import NamedProfile
from core.base import names
from core.base.deadline import with_deadline
from core.base.errors import AccessReviewError
from core.cluster import Cluster
from core.decision.decision import AccessReview
from core.decision.namespaces import Mode
from core.people.subject import Subject

_GROWTH: Final = 4
"""The first profile is asked about alone, for most subjects have it; then 4 at once, 16, 64 …"""

_ADVICE_SECONDS: Final = 0.5


class ProfileRights(msgspec.Struct, frozen=True, gc=False):
    """The rights of the subjects of one request, in one namespace."""

    cluster: Cluster
    subjects: Sequence[Subject]
    """All of them must have the `use`; where there are none, nobody's right is in question."""
    namespace: str
    heard: list[AccessReview] = []
    """The answers, in the order of the profiles that they are about."""

    async def usable(self, candidates: Candidates, *, advise: bool) -> dict[str, bool]:
        """Say of the profiles that matter, in their order, whether they may be used.

        Those that cover all are asked about until one may be used; with `advise` and none, the
        nearest ones too, to word the refusal well.

        Raises:
            AccessReviewError: the cluster did not say, and it matters.
        """
        waiting = candidates.covering()
        answers: dict[str, bool] = {}
        batch = 1
        while not any(answers.values()) and (asked := list(islice(waiting, batch))):
            answers |= await self._ask(asked)
            batch *= _GROWTH
        if any(answers.values()) or not advise:
            return answers
        return answers | await self._advice(candidates.nearest)

    async def _ask(self, profiles: Sequence[Candidate]) -> dict[str, bool]:
        """Say of each profile whether all subjects may use it.

        Profiles are in the order of choice: an answer that fails matters only where no profile
        before it may be used. What comes after is left out.
        """
        answers: list[list[AccessReview] | BaseException] = []
        for profile in profiles:
            if (remembered := self._remembered(profile)) is None:
                break
            answers.append(remembered)
        else:
            return self._usable(profiles, answers)
        if len(profiles) == 1:
            answers = [await self._hear(profiles[0])]
        else:
            answers = await asyncio.gather(*map(self._hear, profiles), return_exceptions=True)
        return self._usable(profiles, answers)

    def _usable(
        self, profiles: Sequence[Candidate], answers: Sequence[list[AccessReview] | BaseException]
    ) -> dict[str, bool]:
        usable: dict[str, bool] = {}
        for profile, answer in zip(profiles, answers, strict=True):
            if isinstance(answer, BaseException):
                if any(usable.values()):
                    break
                raise answer
            self.heard.extend(answer)
            usable[profile.name] = all(access.allowed for access in answer)
        return usable

    def _remembered(self, profile: Candidate) -> list[AccessReview] | None:
        """Return the answers without asking anyone, as nearly always; None where that cannot be."""
        answers: list[AccessReview] = []
        for subject in self.subjects:
            allowed = self.cluster.remembered_access(
                subject, names.USE_VERB, names.PROFILES_RESOURCE, profile.name, self.namespace
            )
            if allowed is None:
                return None
            answers.append(AccessReview(subject, profile.name, allowed))
            if not allowed:
                break
        return answers

    async def _hear(self, profile: Candidate) -> list[AccessReview]:
        """Ask subject after subject, until one may not."""
        answers: list[AccessReview] = []
        for subject in self.subjects:
            allowed = await self.cluster.allowed(
                subject, names.USE_VERB, names.PROFILES_RESOURCE, profile.name, self.namespace
            )
            answers.append(AccessReview(subject, profile.name, allowed))
            if not allowed:
                break
        return answers

    async def _advice(self, profiles: Sequence[Candidate]) -> dict[str, bool]:
        """Ask which of the nearest profiles may be used, only to word the refusal well.

        The refusal is settled by now, so a cluster that does not answer costs the advice alone.
        """
        try:
            return await with_deadline(_ADVICE_SECONDS, self._ask(profiles))
        except (AccessReviewError, TimeoutError):
            return {}


async def ask_usable(
    named: NamedProfile | None, tried: Candidates, rights: ProfileRights, mode: Mode
) -> dict[str, bool]:
    """Ask which of the profiles that matter may be used.

    Raises:
        AccessReviewError: the cluster did not say.
    """
    if named and named.whoever_asks:
        return {named.name: True}
    wanted = tried.only(named.name) if named else tried
    return await rights.usable(wanted, advise=named is None and mode is not Mode.AUDIT)
