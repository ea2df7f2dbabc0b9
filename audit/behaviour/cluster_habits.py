"""What is learnt of all identities of one cluster, and who of them does something unusual."""

import hashlib
from functools import lru_cache
from typing import Final

from audit.behaviour.acting import Acting
from audit.behaviour.acts import Act
from audit.behaviour.habits import DAY_S, Norms, learn, make_norms
from audit.behaviour.remembering import Remembered
from core.risk.model import Behaviour

WARM_S: Final = 14 * DAY_S
"""So long a cluster is only learnt from: before, everything is new."""

MOST_PEOPLE: Final = 15_000
MOST_MACHINES: Final = 5_000
"""Identities that are remembered."""

_MOST_AHEAD_S: Final = 300.0
"""An act from further ahead comes from a clock that is wrong, and teaches nothing."""

_LATEST_S: Final = DAY_S
"""An act that comes later than this is one that was sent before, or says nothing of now."""

_MOST_NUMBERS: Final = 65_536
"""Numbers of acts that are known, twice: a frame that comes again is not learnt from again."""

_REMEMBERED_DIGESTS: Final = 16_384


class ClusterHabits:
    """What is learnt of one cluster's identities: bounded, whatever is done there."""

    def __init__(
        self, salt: bytes, people: int = MOST_PEOPLE, machines: int = MOST_MACHINES
    ) -> None:
        """Begin with nothing. `salt` keeps outsiders from choosing names whose digests collide."""
        self.salt = salt
        self.began: float | None = None
        """When its first act was. Unix seconds."""
        self.learnt = 0
        """Acts, since this process began."""
        self.acting = Acting()
        self.people = Remembered(people)
        self.machines = Remembered(machines)
        self.norms: dict[bool, Norms] = {False: make_norms(), True: make_norms()}
        """By whether it is a machine."""
        self._known: set[int] = set()
        self._known_before: set[int] = set()
        self._digest = lru_cache(maxsize=_REMEMBERED_DIGESTS)(self._make_digest)

    def learn(self, act: Act, now: float) -> Behaviour:
        """Learn from an act that arrives at `now`; give what is unusual since this act.

        What was learnt before from the ledger comes in the order of its times, each being `now`.
        An act that is known, of long ago or of the future teaches nothing.
        """
        if not now - _LATEST_S <= act.at <= now + _MOST_AHEAD_S or self._is_known(act.number):
            return Behaviour(0)
        self.learnt += 1
        self.began = act.at if self.began is None else min(self.began, act.at)
        remembered = self.machines if act.is_machine else self.people
        habits, is_new = remembered.find(act.who)
        digest = self._digest
        digests = (digest(act.namespace), digest(act.profile), digest(act.refused))
        found = learn(habits, act, digests, self.norms[act.is_machine])
        if is_new:
            found |= Behaviour.NEW_CLUSTER
        if not found or not self.is_warm(act.at):
            return Behaviour(0)
        return self.acting.note(act.who, found, act.at)

    def is_warm(self, at: float) -> bool:
        """Say whether enough was learnt to tell what is unusual."""
        return self.began is not None and at >= self.began + WARM_S

    def _is_known(self, number: int) -> bool:
        if number in self._known or number in self._known_before:
            return True
        if len(self._known) >= _MOST_NUMBERS:
            self._known, self._known_before = set(), self._known
        self._known.add(number)
        return False

    def _make_digest(self, text: str) -> int:
        if not text:
            return 0
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8, key=self.salt).digest())
