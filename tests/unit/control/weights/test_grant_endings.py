"""Owners hear before a grant ends, and which Pods still run under one that has ended."""

import datetime as dt
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from control.weights.access.grant_expiry import GrantExpiry
from core.base.errors import ClusterError
from core.cluster import AccountSignIn
from core.people.subject import Subject
from core.people.two_person import Consent
from core.weights.access_grants import AccessGrant
from kube.client.connection import Connection
from kube.client.objects import Objects, Page
from kube.leader.lease import Leadership
from tests.unit.identity.azure_roles.test_just_in_time import grant

LEADER = Leadership(1, math.inf, time.monotonic)
END = dt.datetime(2026, 12, 1, tzinfo=dt.UTC).timestamp()
HOUR, DAY = 3600.0, 86_400.0


class Cluster(Objects):
    """Pods by service account; Events and evictions that were asked for."""

    def __init__(self) -> None:
        super().__init__(Connection(None))
        self.pods: dict[str, list[dict[str, Any]]] = {}
        self.events: dict[str, Mapping[str, Any]] = {}
        self.evicted: list[str] = []

    async def create(self, collection: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Take an Event or an eviction."""
        if collection.endswith("/eviction"):
            self.evicted.append(collection.split("/")[-2])
            return {}
        name = body["metadata"]["name"]
        if name in self.events:
            raise ClusterError("it is there already", 409)
        self.events[name] = body
        return dict(body)

    async def page(
        self,
        collection: str,
        limit: int,
        continue_token: str = "",
        parameters: Mapping[str, str] | None = None,
        *,
        metadata_only: bool = False,
    ) -> Page:
        """Return the Pods of the service account that is asked for."""
        assert collection == "/api/v1/namespaces/train/pods"
        assert limit > 0
        assert not continue_token
        assert not metadata_only
        account = (parameters or {})["fieldSelector"].rpartition("=")[2]
        items = [msgspec.Raw(msgspec.json.encode(pod)) for pod in self.pods.get(account, [])]
        return Page(items, "")

    def pod(self, account: str, name: str, made: float) -> None:
        """Let a Pod run."""
        text = f"{dt.datetime.fromtimestamp(made, dt.UTC):%Y-%m-%dT%H:%M:%SZ}"
        meta = {"name": name, "uid": f"uid-{name}", "creationTimestamp": text}
        self.pods.setdefault(account, []).append({"metadata": meta})


@dataclass
class World:
    """A grant that two people approved, and a clock."""

    objects: Cluster = field(default_factory=Cluster)
    grants_there: list[AccessGrant] = field(
        default_factory=lambda: [grant(serviceAccounts=["trainer"], owner="team-eval")]
    )
    approvals: int = 2
    approved_until: float = math.inf
    when_ended: Literal["report", "evict"] = "report"
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    now: float = 0.0

    def __post_init__(self) -> None:
        """Make the loop."""
        self.endings = GrantExpiry(
            self.objects, self, self.registry, lambda: self.now, self.when_ended
        )

    def grants(self) -> Sequence[AccessGrant]:
        """Return all grants."""
        return self.grants_there

    def consents(self, _: str, uid: str) -> tuple[Consent, ...]:
        """Return the approvals of one."""
        digest = next(one.approvable.digest for one in self.grants_there if one.meta.uid == uid)
        return tuple(
            Consent(f"a{number}", Subject(f"p{number}"), uid, digest, self.approved_until)
            for number in range(self.approvals)
        )

    def sign_in(self, _: str, __: str) -> AccountSignIn | None:
        """Return nobody's identity."""
        return None

    async def at(self, seconds: float) -> list[str]:
        """Run once at a time after the end; give the reasons of all Events."""
        self.now = END + seconds
        await self.endings.run(LEADER)
        return sorted(str(each["reason"]) for each in self.objects.events.values())


@pytest.mark.parametrize(
    ("seconds", "reasons"),
    [
        (-8 * DAY, []),
        (-7 * DAY, ["EndsInAWeek"]),
        (-DAY, ["EndsInADay"]),
        (-HOUR, ["EndsInAnHour"]),
    ],
)
async def test_an_end_is_announced_in_time(seconds: float, reasons: list[str]) -> None:
    """A week, a day and an hour before; the Event names the owner and the store."""
    world = World()
    assert await world.at(seconds) == reasons
    for event in world.objects.events.values():
        assert "team-eval" in event["message"]
        assert event["involvedObject"]["kind"] == "AccessGrant"


async def test_a_grant_that_nobody_approved_is_not_announced() -> None:
    """Nothing runs under it."""
    assert await World(approvals=1).at(-HOUR) == []


async def test_an_approval_that_ends_first_ends_the_grant() -> None:
    """The second-last approval is the end."""
    world = World(approved_until=END - 2 * DAY)
    assert await world.at(-3 * DAY) == ["EndsInADay"]


async def test_what_still_runs_is_listed() -> None:
    """Pods of its service accounts from before the end; later ones had another right."""
    world = World()
    world.objects.pod("trainer", "old", END - DAY)
    world.objects.pod("trainer", "new", END + 10)
    world.objects.pod("other", "elsewhere", END - DAY)
    assert await world.at(60) == ["GrantEnded"]
    (event,) = world.objects.events.values()
    assert "1 Pods still run under it: old." in event["message"]
    shown = {"namespace": "train", "grant": "eval"}
    assert world.registry.get_sample_value("sallyport_grants_ended_pods", shown) == 1
    assert world.objects.evicted == []


async def test_another_grant_of_the_same_account_takes_over() -> None:
    """Its Pods do not run under the one that has ended."""
    world = World()
    later = grant(serviceAccounts=["trainer"], expiresAt="2026-12-24T00:00:00Z")
    meta = msgspec.structs.replace(later.meta, uid="u2", name="next")
    approvable = msgspec.structs.replace(later.approvable, uid="u2")
    world.grants_there.append(msgspec.structs.replace(later, meta=meta, approvable=approvable))
    world.objects.pod("trainer", "old", END - DAY)
    await world.at(60)
    message = next(iter(world.objects.events.values()))["message"]
    assert "No Pod runs under it" in message


async def test_pods_are_evicted_where_the_operator_wants_it() -> None:
    """Only those of before the end, and only then."""
    world = World(when_ended="evict")
    world.objects.pod("trainer", "old", END - DAY)
    world.objects.pod("trainer", "new", END + 10)
    await world.at(-60)
    assert world.objects.evicted == []
    await world.at(60)
    assert world.objects.evicted == ["old"]
