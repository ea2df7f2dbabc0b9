"""Profiles of these tests' own, and workloads that name one."""

from typing import Any

from tests.api.people.requester_notes.conftest import workload
from tests.harness.programs.client import Json

PROFILE = "sallyport.dev/profile"


def profile(name: str, *privileges: str, rank: int = 300) -> Json:
    """Return a profile of what pss-baseline covers (its rank is 200), and of privileges more."""
    return {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": "ContainerProfile",
        "metadata": {"name": name},
        "spec": {
            "rank": rank,
            "catalogue": 3,
            "includes": ["pss-baseline"],
            "privileges": list(privileges),
        },
    }


def naming(profile: str, kind: str, name: str, **spec: Any) -> Json:
    """Return a workload whose author names a profile."""
    made = workload(kind, name, **spec)
    made["metadata"]["annotations"] = {PROFILE: profile}
    return made
