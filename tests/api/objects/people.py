"""Who asks in these tests, and what each may use. Nobody but them may use any profile."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from tests.api.objects.other_objects import MAKINGS
from tests.api.objects.pods import REGISTRY
from tests.api.objects.ways import WAYS
from tests.harness.programs.client import Client, Json
from tests.harness.worlds.rbac import binding, grant, group, role, rule, use_of, user

MAKERS: Final = "makers"
"""A group that RBAC lets do everything but `use` profiles: only the gate refuses it."""

GROUPS: Final = ("system:authenticated", MAKERS)

HOST_PATHS: Final = {
    "may-read-logs": ("volume/hostPath:ro/var/log",),
    "may-write-logs": ("volume/hostPath:rw/var/log",),
    "may-read-the-node": ("volume/hostPath:ro/**",),
    "may-write-data": ("volume/hostPath:rw/data/**", "volume/hostPath:rw/data"),
    "may-write-the-node": ("volume/hostPath:rw/**",),
    "may-attach-host": ("volume/csi/host.example.com",),
}
"""Further profiles of these tests, and what each covers beyond `restricted`."""

_WAYS: Final = {
    **{f"may-{way.name}": way.privileges for way in WAYS},
    **{f"may-{making.name}": making.privileges for making in MAKINGS},
}

SHIPPED: Final = (
    "restricted",
    "baseline",
    "isolated",
    "log-agent",
    "gpu-health",
    "node-agent",
    "pss-baseline",
    "pss-privileged",
)


@dataclass(frozen=True)
class People:
    """Gives clients by what they may use."""

    admin: Client

    def using(self, profile: str) -> Client:
        """Whoever may use one profile, and no other."""
        return self.admin.as_user(holder(profile), GROUPS)

    def nobody(self) -> Client:
        """Whoever may use no profile."""
        return self.admin.as_user("nobody@example.com", GROUPS)

    def account(self, name: str, namespace: str = "kube-system") -> Client:
        """A service account."""
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", *GROUPS)
        return self.admin.as_user(f"system:serviceaccount:{namespace}:{name}", groups)

    def component(self, name: str) -> Client:
        """A component of Kubernetes, with the rights that Kubernetes gives it."""
        return self.admin.as_user(name)


def holder(profile: str) -> str:
    """Return the name of the user who may use a profile."""
    return f"{profile}@example.com"


def profiles() -> Iterator[Json]:
    """Yield the profiles of these tests: `restricted` and the privileges of one way.

    `registries` is as a site with one registry has it.
    """
    for name, privileges in {**_WAYS, **HOST_PATHS}.items():
        yield _profile(name, privileges, includes=["restricted"])
    yield _profile("registries", (f"image/from/{REGISTRY}/**",), includes=[])


def _profile(name: str, privileges: Iterable[str], includes: list[str]) -> Json:
    return {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": "ContainerProfile",
        "metadata": {"name": name},
        "spec": {
            "description": "For a test.",
            "rank": 500,
            "catalogue": 2,
            "includes": includes,
            "privileges": list(privileges),
        },
    }


def grants() -> Iterator[Json]:
    """Yield the roles and bindings of everybody."""
    everything = rule(["*"], "*", "get list watch create update patch delete")
    yield from grant(MAKERS, everything, group(MAKERS))
    for profile in (*SHIPPED, *_WAYS, *HOST_PATHS):
        yield role(f"use-{profile}", use_of(profile))
        yield binding(f"use-{profile}", user(holder(profile)))
