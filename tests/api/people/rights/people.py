"""Who gives rights in these tests. RBAC lets all of them give any; the gate decides."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from tests.harness.programs.client import Client, Json
from tests.harness.worlds.rbac import GROUP, binding, grant, group, role, rule, use_of, user

MAKERS: Final = "rights-makers"
"""A group that RBAC lets write and give everything but `use`, `approve` and `exempt`."""

TEAM: Final = "rights-team"
OTHERS: Final = "rights-others"
OPERATED: Final = "rights-operator"
"""Where operators are installed."""

_VERBS: Final = "get list watch create update patch delete escalate bind"

RESEARCHER: Final = "researcher"
MANAGER: Final = "manager"
LOCAL: Final = "local"
ADMINISTRATOR: Final = "administrator"


@dataclass(frozen=True)
class Givers:
    """Gives clients by what they may use."""

    admin: Client

    @property
    def researcher(self) -> Client:
        """Whoever may use `restricted`, everywhere."""
        return self._one(RESEARCHER)

    @property
    def manager(self) -> Client:
        """The platform team: `rights-manager`, everywhere."""
        return self._one(MANAGER)

    @property
    def local(self) -> Client:
        """A namespace admin: `rights-manager` and `restricted` in TEAM alone."""
        return self._one(LOCAL)

    @property
    def administrator(self) -> Client:
        """Whoever has cluster-admin by RBAC, and is not of system:masters."""
        return self._one(ADMINISTRATOR)

    def _one(self, name: str) -> Client:
        return self.admin.as_user(address(name), (MAKERS, "system:authenticated"))


def address(name: str) -> str:
    """Return the user name of one of them."""
    return f"{name}@rights.example.com"


def rights() -> Iterator[Json]:
    """Yield the roles and bindings of everybody."""
    yield from grant(MAKERS, rule(["*"], "*", _VERBS), group(MAKERS))
    yield from grant("rights-restricted", use_of("restricted"), user(address(RESEARCHER)))
    yield from grant("rights-managers", use_of("rights-manager"), user(address(MANAGER)))
    for profile in ("restricted", "rights-manager"):
        name = f"rights-local-{profile}"
        yield role(name, use_of(profile), TEAM)
        yield binding(name, user(address(LOCAL)), namespace=TEAM)
    yield binding("cluster-admin", user(address(ADMINISTRATOR)), name="rights-administrator")


def cluster_role(*rules: Json, name: str = "tried", **more: Any) -> Json:
    """Return a ClusterRole."""
    metadata = {"name": name, **more.pop("metadata", {})}
    api = f"{GROUP}/v1"
    kept = {"apiVersion": api, "kind": "ClusterRole", "metadata": metadata}
    return {**kept, "rules": list(rules), **more}


def bound(
    to: str, *subjects: Json, namespace: str | None = TEAM, kind: str = "ClusterRole"
) -> Json:
    """Return a RoleBinding, or without a namespace a ClusterRoleBinding, of a role of this kind."""
    made = binding(to, *subjects, namespace=namespace, name="tried")
    made["roleRef"]["kind"] = kind
    return made


def account(**metadata: Json) -> Json:
    """Return a ServiceAccount of TEAM."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "tried", "namespace": TEAM, **metadata},
    }
