"""Small worlds of roles and bindings, and a simulation of what one can come to in them."""

import itertools
from collections.abc import Iterator

from hypothesis import strategies as st

from identity.rights.holders import Holder, as_subject
from kube.rbac.authorizer import Rbac, RbacQuestion
from kube.rbac.objects import GROUP, Binding, BindingSubject, Meta, PolicyRule, Role, RoleRef

PROFILE = "net"
SPACES = ("a", "b")
USERS = tuple(Holder("User", name) for name in ("u", "v"))
GROUPS = tuple(Holder("Group", name) for name in ("g", "h"))
ACCOUNTS = tuple(Holder("ServiceAccount", "s", space) for space in SPACES)
WIDE = tuple(
    Holder("Group", name)
    for name in ("system:authenticated", "system:serviceaccounts", "system:serviceaccounts:a")
)
HOLDERS = (*USERS, *GROUPS, *ACCOUNTS)
TARGETS = (*HOLDERS, *WIDE, Holder("Group", "system:masters"))
"""Whom one may come to be."""

ROLES = tuple(f"r{number}" for number in range(4))

_POWERS = (
    ("use", "sallyport.dev", "containerprofiles", (PROFILE, "other")),
    ("use", "*", "*", ()),
    ("impersonate", "", "users", ("u", "v")),
    ("impersonate", "", "groups", ("g", "h")),
    ("impersonate", "", "serviceaccounts", ("s",)),
    ("create", "", "serviceaccounts/token", ("s",)),
    ("create", "", "pods", ()),
    ("create", "batch", "jobs", ()),
    ("create", "", "secrets", ()),
    ("get", "", "secrets", ("x",)),
    ("create", GROUP, "rolebindings", ()),
    ("create", GROUP, "clusterrolebindings", ()),
    ("bind", GROUP, "roles", ROLES),
    ("bind", GROUP, "clusterroles", ROLES),
    ("update", GROUP, "rolebindings", ("b0", "b1")),
    ("escalate", GROUP, "clusterroles", ROLES),
    ("patch", GROUP, "clusterroles", ROLES),
    ("get", "", "pods", ()),
)


@st.composite
def rules(draw: st.DrawFn) -> PolicyRule:
    """Return a rule that gives one power, perhaps for one name alone."""
    verb, group, resource, names = draw(st.sampled_from(_POWERS))
    name = draw(st.sampled_from(("", *names)))
    return PolicyRule([verb], [group], [resource], [name] if name else None)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Role], list[Binding]]:
    """Return some ClusterRoles and Roles, and who has them."""
    roles = [
        Role(Meta(name, space), draw(st.lists(rules(), min_size=1, max_size=3)), kind=kind)
        for name, space, kind in draw(
            st.lists(
                st.sampled_from(
                    [(name, "", "ClusterRole") for name in ROLES]
                    + [(name, space, "Role") for name in ROLES[:2] for space in SPACES]
                ),
                unique=True,
                min_size=1,
                max_size=5,
            )
        )
    ]
    bindings = [
        bind(
            draw(st.sampled_from(roles)),
            draw(st.sampled_from(("", *SPACES))),
            draw(st.lists(st.sampled_from((*HOLDERS, *WIDE)), min_size=1, max_size=2)),
            f"b{number}",
        )
        for number in range(draw(st.integers(1, 6)))
    ]
    return roles, bindings


_RECIPES = (
    (("bind", GROUP, "clusterroles"), ("create", GROUP, "rolebindings")),
    (("bind", GROUP, "clusterroles"), ("create", GROUP, "clusterrolebindings")),
    (("bind", GROUP, "clusterroles"), ("update", GROUP, "rolebindings")),
    (("escalate", GROUP, "clusterroles"), ("patch", GROUP, "clusterroles")),
    (("impersonate", "", "users"), ("impersonate", "", "groups")),
    (("create", "", "secrets"), ("get", "", "secrets")),
    (("use", "sallyport.dev", "containerprofiles"), ("create", GROUP, "rolebindings")),
)
"""Powers that give something together, and neither of them alone."""

_USERS_POWER = ("impersonate", "", "users")
_LINKS = {
    "User": ((_USERS_POWER,),),
    "Group": ((_USERS_POWER, ("impersonate", "", "groups")),),
    "ServiceAccount": (
        (("impersonate", "", "serviceaccounts"),),
        (("create", "", "pods"),),
        (("create", "", "serviceaccounts/token"),),
    ),
}
"""What lets one become a holder of this kind."""
_PLACES = ("", "", "", *SPACES)
"""Mostly everywhere: else the parts seldom meet."""


@st.composite
def combining_worlds(draw: st.DrawFn) -> tuple[list[Role], list[Binding]]:
    """Return worlds in which rights add up: one identity leads to the next, each has a part.

    Among made-up worlds such are rare. Each power is a ClusterRole with no other; those of one
    recipe lie with several holders, in namespaces or everywhere, beside one or two at random.
    """
    chain = draw(st.lists(st.sampled_from(HOLDERS), min_size=2, max_size=3, unique=True))
    given = [
        (power, earlier)
        for earlier, later in itertools.pairwise(chain)
        for power in draw(st.sampled_from(_LINKS[later.kind]))
    ]
    recipe = draw(st.sampled_from(_RECIPES))
    given += [(power, draw(st.sampled_from(chain))) for power in recipe]
    roles: list[Role] = []
    bindings: list[Binding] = []
    for (verb, group, resource), holder in given:
        rule = PolicyRule([verb], [group], [resource])
        role = Role(Meta(f"p{len(roles)}"), [rule], kind="ClusterRole")
        bindings.append(bind(role, draw(st.sampled_from(_PLACES)), [holder], f"c{len(roles)}"))
        roles.append(role)
    more = draw(st.lists(rules(), max_size=2))
    if more:
        role = Role(Meta("r0"), more, kind="ClusterRole")
        holders = draw(st.lists(st.sampled_from(HOLDERS), min_size=1, max_size=2))
        bindings.append(bind(role, draw(st.sampled_from(_PLACES)), holders, "b0"))
        roles.append(role)
    return roles, bindings


def bind(role: Role, space: str, holders: list[Holder], name: str) -> Binding:
    """Return a binding of a role, in a namespace or (empty) the whole cluster where that can be."""
    place = role.metadata.namespace or space
    subjects = [BindingSubject(each.kind, each.name, each.namespace) for each in holders]
    kind = "RoleBinding" if place else "ClusterRoleBinding"
    reference = RoleRef("Role" if role.metadata.namespace else "ClusterRole", role.metadata.name)
    return Binding(Meta(name, place), reference, subjects, kind=kind)


_CLUSTER_ADMIN = Role(Meta("cluster-admin"), [PolicyRule(["*"], ["*"], ["*"])], kind="ClusterRole")
"""Which every cluster has."""


class Attacker:
    """One who does what it may, and then whatever that lets it do, until nothing is new.

    Each step is asked of `Rbac` as kube-apiserver asks it, with the bindings as they then are.
    It impersonates a user or a group and not both together, and writes into roles by `escalate`
    alone: `who_can` does not follow the rest, which its docstring says.
    """

    def __init__(self, first: Holder, roles: list[Role], bindings: list[Binding]) -> None:
        self.identities = [first]
        self._roles = [*roles, _CLUSTER_ADMIN]
        self._bindings = list(bindings)
        self._rbac = Rbac(self._roles, self._bindings)

    def may(self, identity: Holder, verb: str, what: str, name: str = "", space: str = "") -> bool:
        """Ask for one identity; `what` is `group/resource` or `group/resource/subresource`."""
        group, resource, *sub = what.split("/")
        asked = RbacQuestion(verb, group, resource, name, space, "".join(sub))
        return self._rbac.allows(as_subject(identity), asked)

    def uses(self, space: str) -> bool:
        """Return whether it comes to use the profile in a namespace."""
        while self._become() or self._bind():
            pass
        what = "sallyport.dev/containerprofiles"
        return any(self.may(each, "use", what, PROFILE, space) for each in self.identities)

    def _become(self) -> bool:
        for identity, target in itertools.product(list(self.identities), TARGETS):
            if target not in self.identities and self._may_become(identity, target):
                self.identities.append(target)
                return True
        return False

    def _may_become(self, me: Holder, target: Holder) -> bool:
        name, space = target.name, target.namespace
        if target.kind == "User":
            return self.may(me, "impersonate", "/users", name)
        if target.kind == "Group":
            some = any(self.may(me, "impersonate", "/users", each.name) for each in USERS) or any(
                self.may(me, "impersonate", "/serviceaccounts", "s", each) for each in SPACES
            )
            return some and self.may(me, "impersonate", "/groups", name)
        return (
            self.may(me, "impersonate", "/serviceaccounts", name, space)
            or self.may(me, "create", "/serviceaccounts/token", name, space)
            or self.may(me, "create", "/pods", "", space)
            or self.may(me, "create", "batch/jobs", "", space)
            or (
                self.may(me, "create", "/secrets", "", space)
                and self.may(me, "get", "/secrets", "x", space)
            )
        )

    def _bind(self) -> bool:
        for me, role in itertools.product(list(self.identities), list(self._roles)):
            for space in ("", *SPACES):
                others = [i for i in self.identities if not self._has(i, role, space)]
                can_lie_there = role.metadata.namespace in {"", space}
                if can_lie_there and others and self._may_bind(me, role, space):
                    self._add(bind(role, space, others, "new"))
                    return True
            if not role.metadata.namespace and self._may_rewrite(me, role):
                everything = PolicyRule(["*"], ["*"], ["*"])
                if everything not in (role.rules or ()):
                    self._roles[self._roles.index(role)] = Role(
                        role.metadata, [everything], kind=role.kind
                    )
                    self._rbac = Rbac(self._roles, self._bindings)
                    return True
        return False

    def _may_rewrite(self, me: Holder, role: Role) -> bool:
        name = role.metadata.name
        return self.may(me, "escalate", f"{GROUP}/clusterroles", name) and self.may(
            me, "patch", f"{GROUP}/clusterroles", name
        )

    def _may_bind(self, me: Holder, role: Role, space: str) -> bool:
        kind = "roles" if role.metadata.namespace else "clusterroles"
        bindings = "rolebindings" if space else "clusterrolebindings"
        named = self.may(me, "bind", f"{GROUP}/{kind}", role.metadata.name, space)
        if not named and not self._covers(me, role, space):
            return False
        return self.may(me, "create", f"{GROUP}/{bindings}", "", space) or any(
            self.may(me, "update", f"{GROUP}/{bindings}", each.metadata.name, space)
            for each in self._of(role, space)
        )

    def _covers(self, me: Holder, role: Role, space: str) -> bool:
        """Return whether one has all rights of a role, which it may then bind without `bind`."""
        return all(
            self.may(me, verb, f"{group}/{resource}", name, space)
            for rule in role.rules or ()
            for verb, group, resource, name in itertools.product(
                rule.verbs, rule.api_groups or (), rule.resources or (), rule.resource_names or [""]
            )
        )

    def _of(self, role: Role, space: str) -> Iterator[Binding]:
        kind = "Role" if role.metadata.namespace else "ClusterRole"
        for each in self._bindings:
            same = (each.role_ref.kind, each.role_ref.name) == (kind, role.metadata.name)
            if same and each.metadata.namespace == space:
                yield each

    def _has(self, me: Holder, role: Role, space: str) -> bool:
        subject = BindingSubject(me.kind, me.name, me.namespace)
        return any(subject in (each.subjects or ()) for each in self._of(role, space))

    def _add(self, binding: Binding) -> None:
        self._bindings.append(binding)
        self._rbac = Rbac(self._roles, self._bindings)
