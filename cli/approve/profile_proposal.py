"""What `sallyport approve profile FILE` shows: what a file would make of a ContainerProfile."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from core.approvals.approvals import CLUSTER_KIND, PROFILE
from core.approvals.profile_widening import find_widenings, profile_proposal
from core.base import names
from core.base.errors import SettingsError
from core.people.two_person import Approvable
from core.profiles.container_profiles import ContainerProfile, parse_profile
from core.profiles.privileges import PatternSet, find_uncovered
from kube.client.objects import Objects
from kube.cluster.live import PROFILES_PATH

PROFILE_CALLED: Final = ("profile", "containerprofile", "containerprofiles")
"""What a person may call the kind."""


@dataclass(frozen=True)
class ProfileProposal:
    """A profile as it is to be, and as it is."""

    new: ContainerProfile
    old: ContainerProfile | None
    uid: str
    """Of the one there is; empty where there is none."""

    @classmethod
    async def of(cls, objects: Objects, profile: ContainerProfile) -> "ProfileProposal":
        """Compare with what the cluster has.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            InvalidObjectError: what it has cannot be read.
        """
        found = await objects.get(f"{PROFILES_PATH}/{profile.name}")
        if found is None:
            return cls(profile, None, "")
        uid = str(found["metadata"]["uid"])
        return cls(profile, parse_profile(msgspec.json.encode(found)), uid)

    @property
    def what(self) -> Approvable:
        """What is approved; who will write it is not known yet."""
        return profile_proposal(self.new, self.uid, frozenset())

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield the differences, a line each, with its colour."""
        yield f"{PROFILE} {self.new.name}{'' if self.old else ' (new)'}", ""
        yield f"  digest:   {self.what.digest}", ""
        wider = find_widenings(self.old, self.new)
        if self.old is None:
            spec = self.new.spec
            yield f"  rank {spec.rank}, catalogue {spec.catalogue}", ""
            yield from ((f"  + covers {pattern}", "green") for pattern in spec.privileges)
            for each in spec.relaxations:
                for pattern in each.privileges:
                    yield f"  + covers {pattern} from Kubernetes {each.minimum_version} on", "green"
            yield from ((f"  + includes {name}", "green") for name in spec.includes)
            return
        yield from ((f"  + {each}", "green") for each in wider)
        old, new = PatternSet(self.old.spec.privileges), PatternSet(self.new.spec.privileges)
        yield from ((f"  - covers {each}", "red") for each in find_uncovered(old, new))
        if not wider:
            yield "  It is no wider than it is now: nobody needs to approve it.", ""

    def approval(self, expires: str, reason: str) -> dict[str, Any]:
        """Return the approval of it.

        Raises:
            SettingsError: there is nothing to approve.
        """
        if not find_widenings(self.old, self.new):
            raise SettingsError(f"{self.new.name}: nothing of it becomes wider: just apply it")
        wanted = {"kind": PROFILE, "name": self.new.name, "digest": self.what.digest}
        uid = {"uid": self.uid} if self.uid else {}
        spec = {"for": {**wanted, **uid}, "expiresAt": expires}
        return {
            "apiVersion": names.API_VERSION,
            "kind": CLUSTER_KIND,
            "metadata": {"generateName": f"{self.new.name}-"},
            "spec": {**spec, "reason": reason} if reason else spec,
        }
