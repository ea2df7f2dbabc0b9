"""Made-up clusters: roles, bindings and the questions that are asked of them, from a seed.

Resources are made up too, so that of the stock roles only `cluster-admin`, and what is
aggregated to `admin`, `edit` and `view`, can reach them.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from core.people.subject import Subject, service_account_subject
from kube.rbac.authorizer import RbacQuestion
from tests.harness.programs.client import Json
from tests.harness.worlds import rbac

SPACES: Final = ("train", "eval", "lab")
NAMES: Final = ("one", "two", "three", "four", "five")
STOCK: Final = ("cluster-admin", "admin", "edit", "view")
BOOTSTRAPPING: Final = "kubernetes.io/bootstrapping"
"""The label of every stock role, `cluster-admin` too."""

_AGGREGATE: Final = "rbac.authorization.k8s.io/aggregate-to-"
_PLAIN_ROLES, _AGGREGATED_ROLES, _SPACED_ROLES, _BINDINGS = 14, 7, 10, 30

USERS: Final = (
    Subject("alice", groups=["researchers", "system:authenticated"]),
    Subject("bob", groups=["system:authenticated", "researchers", "ops"]),
    Subject("carol"),
    Subject("researchers", groups=["system:authenticated"]),
    Subject("system:anonymous", groups=["system:unauthenticated"]),
    Subject("system:masters", groups=["system:authenticated"]),
    Subject("root", groups=["system:masters", "system:authenticated"]),
    Subject("", groups=["ops"]),
    service_account_subject("train", "default"),
    service_account_subject("train", "trainer"),
    service_account_subject("eval", "default"),
    Subject("system:serviceaccount:eval:trainer", groups=["system:authenticated"]),
)
"""Among them a user named as a group is, and one named as a service account without its groups."""

_SUBJECTS: Final = (
    *(rbac.user(name) for name in ("alice", "bob", "carol", "Alice", "*", "system:masters")),
    rbac.user("system:serviceaccount:train:default"),
    *(rbac.group(name) for name in ("researchers", "ops", "alice", "system:serviceaccounts")),
    *(rbac.group(f"system:{name}") for name in ("authenticated", "unauthenticated", "masters")),
    *(rbac.group(f"system:serviceaccounts:{space}") for space in ("train", "eval")),
    *(rbac.service_account(name, "train") for name in ("default", "trainer", "absent")),
    rbac.service_account("trainer", "eval"),
)

_GROUPS: Final = (["sallyport.dev"], ["*"], ["example.dev"], ["", "sallyport.dev"], ["Example.dev"])
_RESOURCES: Final = (
    "containerprofiles|*|containerprofiles/status|*/status|*/*|containerprofiles/*"
    "|widgets namespaces|containerprofiles */scale|approvaltiers|container*|widgets/status"
).split("|")
_VERBS: Final = ("use", "*", "approve exempt", "get list use", "Use", "use*", "get")
_RESOURCE_NAMES: Final = (["small"], ["small", "large"], ["*"], [""])
_PATHS: Final = (["*"], ["/metrics", "/healthz/*"])

_ASKED: Final = (
    *(("sallyport.dev", resource) for resource in ("containerprofiles", "namespaces", "*")),
    ("sallyport.dev", "approvaltiers"),
    ("sallyport.dev", "containerprofiles/status"),
    ("example.dev", "widgets"),
    ("", "widgets"),
    ("*", "*"),
)


@dataclass(frozen=True)
class World:
    """What lies in one made-up cluster, in an order in which it can be created."""

    roles: list[Json]
    bindings: list[Json]


def world(seed: int) -> World:
    """Return the cluster of a seed."""
    rng = random.Random(seed)  # noqa: S311 -- must repeat, need not be secret
    cluster = [*_plain_cluster_roles(rng), *_aggregated(rng, f"aggregated-{seed}")]
    spaced = {(rng.choice(SPACES), rng.choice(NAMES)) for _ in range(_SPACED_ROLES)}
    roles = [_role(rng, "Role", name, space) for space, name in sorted(spaced)]
    names = [role["metadata"]["name"] for role in cluster]
    return World([*cluster, *roles], list(_bindings(rng, names)))


def questions(seed: int, count: int) -> Iterator[tuple[Subject, RbacQuestion]]:
    """Yield `count` questions of the seed, each with who is asked about."""
    rng = random.Random(seed)  # noqa: S311 -- as above
    for _ in range(count):
        group, resource = rng.choice(_ASKED)
        yield (
            rng.choice(USERS),
            RbacQuestion(
                rng.choice(("use", "use", "get", "approve", "exempt", "*", "")),
                group,
                resource,
                rng.choice(("small", "large", "", "*")),
                rng.choice((*SPACES, "nowhere", "")),
                rng.choice(("", "", "", "status", "scale")) if "/" not in resource else "",
            ),
        )


def _plain_cluster_roles(rng: random.Random) -> Iterator[Json]:
    for index in range(_PLAIN_ROLES):
        # The first share their names with Roles of namespaces.
        name = NAMES[index] if index < len(NAMES) else f"plain-{index}"
        role = _role(rng, "ClusterRole", name)
        role["metadata"]["labels"] = _labels(rng)
        yield role


def _aggregated(rng: random.Random, stem: str) -> Iterator[Json]:
    """Yield ClusterRoles that aggregate, one another and in circles too.

    One that others may select has no rules of its own: what becomes of such rules in a circle
    depends on which role the controller comes to first, so no answer would be the right one.
    Their names are the world's own: a role that is deleted while the controller applies its
    rules is there again, with these rules and nothing else.
    """
    selectors = [
        [_selector(rng) for _ in range(rng.randint(1, 2))] for _ in range(_AGGREGATED_ROLES)
    ]
    for index, chosen in enumerate(selectors):
        role = _role(rng, "ClusterRole", f"{stem}-{index}")
        role["aggregationRule"] = {"clusterRoleSelectors": chosen}
        if index % 3:
            role["metadata"]["labels"] = {**_labels(rng), "chosen": "true"}
            role["rules"] = []
        yield role


def _labels(rng: random.Random) -> dict[str, str]:
    labels = {"chosen": "true"}
    if rng.random() < 0.6:
        labels["tier"] = rng.choice(("a", "b", ""))
    if rng.random() < 0.4:
        labels["site"] = rng.choice(("x", "y"))
    if rng.random() < 0.2:
        labels[_AGGREGATE + rng.choice(("admin", "edit", "view"))] = rng.choice(("true", "false"))
    return labels


def _selector(rng: random.Random) -> Json:
    """Return a label selector; but for the last two, it selects none without the label `chosen`."""
    expressions = [_expression(rng) for _ in range(rng.randint(1, 2))]
    chosen = {"chosen": "true"}
    choices: list[tuple[int, Json]] = [
        (6, {"matchLabels": {"tier": rng.choice(("a", "b", "")), **chosen}}),
        (6, {"matchLabels": chosen, "matchExpressions": expressions}),
        (3, {"matchLabels": {"site": rng.choice(("x", "z"))}}),
        (3, {"matchLabels": {"tier": "none"}}),
        (2, {"matchLabels": {_AGGREGATE + rng.choice(("edit", "view")): "true"}}),
        (1, {"matchLabels": {BOOTSTRAPPING: "rbac-defaults"}}),
    ]
    weights, selectors = zip(*choices, strict=True)
    selected: Json = rng.choices(selectors, weights)[0]
    return selected


def _expression(rng: random.Random) -> Json:
    key = rng.choice(("tier", "site", BOOTSTRAPPING))
    operator = rng.choice(("In", "NotIn", "Exists", "DoesNotExist"))
    if operator in {"Exists", "DoesNotExist"}:
        return {"key": key, "operator": operator}
    values = rng.choice((["a"], ["a", "x"], ["y", ""], ["b", "y", "rbac-defaults"]))
    return {"key": key, "operator": operator, "values": values}


def _role(rng: random.Random, kind: str, name: str, namespace: str = "") -> Json:
    metadata: Json = {"name": name, "namespace": namespace} if namespace else {"name": name}
    rules = [_rule(rng, kind) for _ in range(rng.choice((0, 1, 2, 2, 3, 4)))]
    return {
        "apiVersion": f"{rbac.GROUP}/v1",
        "kind": kind,
        "metadata": metadata,
        "rules": rules,
    }


def _rule(rng: random.Random, kind: str) -> Json:
    if kind == "ClusterRole" and rng.random() < 0.1:
        return {"nonResourceURLs": rng.choice(_PATHS), "verbs": rng.choice(_VERBS).split()}
    names = rng.choice(_RESOURCE_NAMES) if rng.random() < 0.4 else []
    return rbac.rule(rng.choice(_GROUPS), rng.choice(_RESOURCES), rng.choice(_VERBS), *names)


def _bindings(rng: random.Random, cluster_roles: list[str]) -> Iterator[Json]:
    taken: set[tuple[str, str]] = set()
    for _ in range(_BINDINGS):
        space = rng.choice((*SPACES, ""))
        # Few names, so that the same stands in several namespaces.
        name = rng.choice((*NAMES, *(f"more-{index}" for index in range(5))))
        if (space, name) in taken:
            continue
        taken.add((space, name))
        subjects = rng.sample(_SUBJECTS, rng.choice((0, 1, 2, 3, 4)))
        binding = rbac.binding("", *subjects, namespace=space or None, name=name)
        binding["roleRef"] = _reference(rng, cluster_roles, spaced=bool(space))
        yield binding


def _reference(rng: random.Random, cluster_roles: list[str], *, spaced: bool) -> Json:
    kind = rng.choice(("Role", "ClusterRole")) if spaced else "ClusterRole"
    draw = rng.random()
    if kind == "Role":
        name = rng.choice(NAMES)
    elif draw < 0.1:
        name = "missing"
    elif draw < 0.2:
        name = rng.choice(STOCK)
    else:
        name = rng.choice(cluster_roles)
    return {"apiGroup": rbac.GROUP, "kind": kind, "name": name}
