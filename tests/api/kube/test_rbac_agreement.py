"""A folder's RBAC gives the answers of kube-apiserver's authorizer, on made-up clusters.

Resources are made up too, so that of the stock roles only `cluster-admin`, and what is
aggregated to `admin`, `edit` and `view`, can reach them.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import product
from typing import Final

import msgspec
import pytest

from core.people.subject import Subject, service_account_subject
from kube.rbac.authorizer import Rbac, RbacQuestion, aggregate, bootstrap_roles
from kube.rbac.objects import GROUP, Binding, PolicyRule, Role, check_binding, check_role
from tests.harness.evidence import record
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import CONNECTIONS, Client, Json, connect
from tests.harness.programs.controller_manager import ControllerManager
from tests.harness.sizes import PROOF, size
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


SETTLE_TIMEOUT_S: Final = 60.0
"""How long kube-apiserver and the controller may take over a change before it is a difference."""

_STILL_S: Final = 0.3
_POLL_S: Final = 0.05
_ROLES_PATH: Final = f"/apis/{rbac.GROUP}/v1/clusterroles"
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_CANARY: Final = "canary"


class Tally(msgspec.Struct, frozen=True):
    """What was found over some worlds; tallies add up.

    `differences` are sentences. `aggregated` counts the ClusterRoles compared whose rules the
    controller filled.
    """

    worlds: int = 0
    asked: int = 0
    allowed: int = 0
    aggregated: int = 0
    differences: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Return the numbers as Markdown list items."""
        return [
            f"- Made-up clusters (seeds 0 to {self.worlds - 1}): {self.worlds}",
            f"- SubjectAccessReviews asked: {self.asked}, of which allowed: {self.allowed} "
            f"({self.allowed / max(self.asked, 1):.0%})",
            "- ClusterRoles whose rules kube-controller-manager's clusterrole-aggregation "
            f"controller filled: {self.aggregated}",
            f"- Differences, in answers or in such rules: {len(self.differences)}",
        ]

    def __add__(self, other: "Tally") -> "Tally":
        """Return the tally over both."""
        return Tally(
            self.worlds + other.worlds,
            self.asked + other.asked,
            self.allowed + other.allowed,
            self.aggregated + other.aggregated,
            self.differences + other.differences,
        )


async def compare(client: Client, seeds: Iterable[int], each: int) -> Tally:
    """Compare `each` answers, and all aggregated rules, in the made-up world of each seed.

    Needs a cluster of its own, empty but for what kube-apiserver makes, whose
    clusterrole-aggregation-controller runs.
    """
    tally = Tally()
    for space in SPACES:
        await client.create_namespace(space)
    for seed in seeds:
        made = world(seed)
        async with _installed(client, f"{_CANARY}-{seed}", made):
            tally += await _compare_rules(client, seed, made)
            tally += await _compare_answers(client, seed, made, each)
    return tally


def rbac_of(made: World) -> Rbac:
    """Return a world as a folder has it."""
    return Rbac(_roles(made), _bindings_of(made))


def _roles(made: World) -> Iterator[Role]:
    for item in made.roles:
        role = msgspec.convert(item, Role)
        check_role(role, role.metadata.name)
        yield role


def _bindings_of(made: World) -> Iterator[Binding]:
    for item in made.bindings:
        binding = msgspec.convert(item, Binding)
        check_binding(binding, binding.metadata.name)
        yield binding


@asynccontextmanager
async def _installed(client: Client, canary: str, made: World) -> AsyncIterator[None]:
    """Have a world in the cluster, its aggregated roles filled, while the context lasts."""
    items = [*made.roles, *made.bindings, *_canary(canary)]
    for item in items:
        await client.create(item)
    sung = RbacQuestion(canary, "", canary)
    await _until(lambda: _allowed(client, Subject(canary), sung))
    await _until(lambda: _still(client))
    yield
    for item in items:
        await client.delete(item)


def _canary(name: str) -> tuple[Json, Json, Json]:
    """Return the last objects, whose effect shows that all before have been taken in."""
    label = {name: "true"}
    source = rbac.role(f"{name}-source", rbac.rule([""], name, name))
    source["metadata"]["labels"] = label
    filled = rbac.role(name, rbac.rule([""], name, "none"))
    filled["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": label}]}
    return source, filled, rbac.binding(name, rbac.user(name))


async def _until(condition: Callable[[], Awaitable[bool]]) -> None:
    deadline = time.monotonic() + SETTLE_TIMEOUT_S
    while not await condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"kube-apiserver had not settled after {SETTLE_TIMEOUT_S:g} s")
        await asyncio.sleep(_POLL_S)


async def _still(client: Client) -> bool:
    """Return whether no ClusterRole changes for a moment."""
    before = await _stored_rules(client)
    await asyncio.sleep(_STILL_S)
    return before == await _stored_rules(client)


async def _stored_rules(client: Client) -> dict[str, set[str]]:
    """Return the rules of each ClusterRole; in a circle their order may change for ever."""
    status, answer = await client.request("GET", _ROLES_PATH)
    assert status == 200, answer
    return {
        item["metadata"]["name"]: _keys(msgspec.convert(item.get("rules") or [], list[PolicyRule]))
        for item in answer["items"]
    }


async def _compare_rules(client: Client, seed: int, made: World) -> Tally:
    """Compare the rules of each aggregated role of the world; their order means nothing.

    Rules that come from stock roles are left out: of those the folder knows only some.
    """
    stock = {role.metadata.name: role for role in bootstrap_roles()}
    roles = {role.metadata.name: role for role in _roles(made) if role.kind == "ClusterRole"}
    ours, theirs = aggregate(stock | roles), await _stored_rules(client)
    known = set().union(
        *(rules for name, rules in theirs.items() if name not in roles),
        *(_keys(role.rules or ()) for role in stock.values()),
    )
    names = [name for name, role in roles.items() if role.aggregation_rule]
    differences = tuple(
        f"world {seed}: ClusterRole {name}: ours {sorted(mine)}, theirs {sorted(other)}"
        for name in names
        if (mine := _keys(ours[name]) - known) != (other := theirs[name] - known)
    )
    return Tally(aggregated=len(names), differences=differences)


def _keys(rules: Iterable[PolicyRule]) -> set[str]:
    return {msgspec.json.encode(rule).decode() for rule in rules}


async def _compare_answers(client: Client, seed: int, made: World, count: int) -> Tally:
    """Ask about the world, 8 at once; the sum does not depend on the order."""
    folder, stream = rbac_of(made), questions(seed, count)
    work = [_work(client, folder, stream, f"world {seed}") for _ in range(CONNECTIONS)]
    return sum(await asyncio.gather(*work), start=Tally(worlds=1))


async def _work(
    client: Client, folder: Rbac, stream: Iterator[tuple[Subject, RbacQuestion]], place: str
) -> Tally:
    counts: Counter[bool] = Counter()
    differences = []
    for user, question in stream:
        ours = folder.allows(user, question)
        counts[ours] += 1
        if await _allowed(client, user, question) is not ours:
            who = f"{user.username!r} in {user.groups}"
            differences.append(f"{place}: {who}: {question}: ours {ours}")
    return Tally(asked=counts.total(), allowed=counts[True], differences=tuple(differences))


async def _allowed(client: Client, user: Subject, question: RbacQuestion) -> bool:
    """Ask kube-apiserver by SubjectAccessReview; anything but an answer fails."""
    asked = {
        "verb": question.verb,
        "group": question.group,
        "resource": question.resource,
        "subresource": question.subresource,
        "name": question.name,
        "namespace": question.namespace,
    }
    spec: Json = {"user": user.username, "groups": user.groups, "resourceAttributes": asked}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": spec,
    }
    status, answer = await client.request("POST", _REVIEWS, review)
    assert status == 201, answer
    return bool(answer["status"]["allowed"])


QUESTIONS = 600
"""Of each world."""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A cluster of this file's own, with the controller that fills aggregated ClusterRoles."""
    for program in ("etcd", "kube-apiserver", "kube-controller-manager"):
        require(program)
    apiserver = ApiServer(tmp_path_factory.mktemp("apiserver"))
    folder = tmp_path_factory.mktemp("controllers")
    try:
        manager = ControllerManager(folder, apiserver, "clusterrole-aggregation-controller")
        yield apiserver
        manager.stop()
    finally:
        apiserver.stop()


@pytest.fixture
async def admin(alone: ApiServer) -> AsyncIterator[Client]:
    """A client of it with all rights."""
    async with connect(alone) as client:
        yield client


@pytest.mark.proof
async def test_the_folder_answers_as_kube_apiserver_does(admin: Client, alone: ApiServer) -> None:
    """No answer and no aggregated ClusterRole differs, over thousands of questions."""
    worlds = size(ci=3, proof=50)
    tally = await compare(admin, range(worlds), QUESTIONS)
    assert not tally.differences, "\n".join(tally.differences[:20])
    assert tally.asked == worlds * QUESTIONS
    assert tally.aggregated == 7 * worlds
    assert 0.1 < tally.allowed / tally.asked < 0.7, "the questions are too alike"
    if PROOF:
        record("rbac-agreement", [f"- kube-apiserver {alone.version()}", *tally.lines()])


async def test_stock_roles_are_those_of_the_cluster(admin: Client) -> None:
    """Each exists with its labels and selectors; no rule of ours gives what theirs do not."""
    for role in bootstrap_roles():
        name = role.metadata.name
        status, stored = await admin.request("GET", f"/apis/{GROUP}/v1/clusterroles/{name}")
        assert status == 200, stored
        assert stored["metadata"]["labels"].items() >= (role.metadata.labels or {}).items()
        selectors = msgspec.to_builtins(role.aggregation_rule)
        assert stored.get("aggregationRule") == selectors, name
        theirs = _powers(msgspec.convert(stored["rules"] or [], list[PolicyRule]))
        assert _powers(role.rules or ()) <= theirs, name


def _powers(rules: Iterable[PolicyRule]) -> set[tuple[str, str, str]]:
    """Return each verb, group and resource that rules without names give."""
    return {
        power
        for rule in rules
        if not rule.resource_names
        for power in product(rule.verbs, rule.api_groups or (), rule.resources or ())
    }
