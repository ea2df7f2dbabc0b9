"""The folder's RBAC beside that of kube-apiserver and its controllers, question by question."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from core.people.subject import Subject
from kube.rbac.authorizer import Rbac, RbacQuestion, aggregate
from kube.rbac.default_roles import bootstrap_roles
from kube.rbac.objects import Binding, PolicyRule, Role, check_binding, check_role
from tests.api.kube.rbac_worlds import SPACES, World, questions, world
from tests.harness.programs.client import CONNECTIONS, Client, Json
from tests.harness.worlds import rbac

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
