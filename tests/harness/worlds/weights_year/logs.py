"""A year around three stores of weights: storage logs of the normal life of 200 principals.

Records are JSON by Azure's published schema (`tests.harness.worlds.storage_logs`), in the order in
which they are delivered: some late, some twice. Lives of Pods, decisions, grants and identities
come as the documents that `control` records. The same shape gives the same year, byte for byte.
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import msgspec

from audit.ledger.records.frames import FrameKind
from core.base.ids import stable_id
from core.weights.documents.object_change import ObjectChange, encode_change
from core.weights.documents.pod_life import FORMAT, LifeEvent, PodLife, encode_life
from tests.harness.worlds.storage_logs import identity, storage_record
from tests.harness.worlds.weights_year.lives import LIVES
from tests.harness.worlds.weights_year.people import (
    CLUSTER,
    DAY,
    GIB,
    HOUR,
    LOG,
    NODES,
    SHARES,
    START,
    STORES,
    Happening,
    Job,
    Principal,
    Session,
    Shape,
    Store,
    agent,
    shard_of,
    text_of,
)


@dataclass
class Year:
    """One year of one seed."""

    shape: Shape
    people: list[Principal] = field(init=False)
    silent: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Accounts whose log says nothing between two times."""

    def __post_init__(self) -> None:
        """Draw who there is."""
        self.draw = random.Random(f"year-{self.shape.seed}")  # noqa: S311  Not a secret.
        self._serial = count(1)
        self.people = [self._person(number) for number in range(1, self.shape.principals + 1)]

    def named(self, job: Job, index: int = 0) -> Principal:
        """Return one of those that do a job all the year."""
        found = [one for one in self.people if one.job is job and one.joins == 0]
        steady = [one for one in found if one.leaves > self.shape.days]
        return steady[index % len(steady)]

    def beginning(self) -> list[Happening]:
        """Return what is known before the first day."""
        stores = [self._store(one) for one in STORES]
        return [*stores, *(self._signs_in(one, 0, "there") for one in self.people)]

    def day(self, day: int) -> list[Happening]:
        """Return what happens on a day, not in order."""
        found: list[Happening] = []
        for one in self.people:
            if not one.joins <= day < one.leaves:
                continue
            if day == one.changes:
                found.append(self._signs_in(one, day, "changed"))
            lapsed = one.lapses[0] <= day < one.lapses[1]
            if day == one.lapses[1] or ((day - one.joins) % 60 == 0 and not lapsed):
                found.append(self._grant(one, day))
            found += LIVES[one.job](self, one, day)
        return found

    # What happens.

    def session(
        self, one: Principal, at: float, seconds: float, *, node: int | None = None
    ) -> tuple[Session, list[Happening]]:
        """Let a Pod live, with its decision; give it, and what is recorded of it."""
        day = int((at - START) // DAY)
        number = next(self._serial)
        uid = f"00000000-0000-4000-8000-{number:012x}"
        node = self.draw.randrange(NODES) if node is None else node
        oid, client = one.ids(day)
        token = f"{self.draw.getrandbits(128):032X}"
        found = Session(
            one, oid, client, f"10.225.{node >> 8}.{node & 255}", token, at, at + seconds
        )
        life = PodLife(
            format=FORMAT,
            id=stable_id(int(at * 1000), "life", uid, "addressed"),
            time=text_of(at),
            cluster=CLUSTER,
            event=LifeEvent.ADDRESSED,
            uid=uid,
            namespace=one.namespace,
            name=f"{one.job.value}-{number}",
            service_account=one.account,
            node=f"node-{node}",
            addresses=[f"10.244.{node}.{number % 250}"],
            node_addresses=[found.address],
            began=text_of(at),
            client_ids=[client],
        )
        end = msgspec.structs.replace(
            life,
            id=stable_id(int(found.end * 1000), "life", uid, "ended"),
            time=text_of(found.end),
            event=LifeEvent.ENDED,
            ended=text_of(found.end),
        )
        return found, [
            Happening(at, FrameKind.DECISION, self._decision(one, uid, at)),
            Happening(at + 1, FrameKind.POD_LIFE, encode_life(life)),
            Happening(found.end + 1, FrameKind.POD_LIFE, encode_life(end)),
        ]

    def access(  # noqa: PLR0913  One argument a field of the record.
        self,
        by: Session | None,
        at: float,
        operation: str,
        store: Store,
        blob: str = "",
        *,
        amount: int = 0,
        **fields: Any,
    ) -> list[Happening]:
        """Return the record of one request, as it is delivered: late, and rarely twice."""
        quiet = self.silent.get(store.account)
        if quiet and quiet[0] <= at < quiet[1]:
            return []
        if by is not None:
            asked = identity("OAuth", objectId=by.oid, appId=by.client)
            fields = {
                "identity": {**asked, "tokenHash": by.token},
                "address": f"{by.address}:{40_000 + self.draw.randrange(9000)}",
                "properties": {"userAgentHeader": agent(by.one.agent, at), "operationCount": 0},
                **fields,
            }
        record = storage_record(
            operation=operation,
            account=store.account,
            container=store.container,
            blob=blob,
            unix_ms=int(at * 1000),
            bytes_out=amount,
            correlationId=fields.pop("correlation", f"{next(self._serial):032x}"),
            **fields,
        )
        content = msgspec.json.encode(record)
        late = min(math.exp(self.draw.gauss(5.0, 0.8)), 3 * HOUR)
        arrived = Happening(at + late, LOG, content)
        if self.draw.random() < 0.003:
            return [arrived, Happening(at + late + self.draw.uniform(0, HOUR), LOG, content)]
        return [arrived]

    def reads(
        self, by: Session, store: Store, shards: Sequence[int], step: int
    ) -> Iterator[Happening]:
        """Yield the reads of shards of a checkpoint, spread over a session."""
        span = (by.end - by.begin) * 0.8
        for place, shard in enumerate(shards):
            at = by.begin + 30 + span * place / max(1, len(shards))
            amount = store.shard_gib * GIB
            yield from self.access(by, at, "GetBlob", store, shard_of(step, shard), amount=amount)

    # Documents.

    def _store(self, store: Store) -> Happening:
        identities: list[dict[str, Any]] = []
        for one in self.people:
            for day in (0, 100_000):
                oid, client = one.ids(day)
                listed = {"clientId": client, "objectId": oid, "rights": ["read", "write"]}
                if one.store is store and listed not in identities and len(identities) < 256:
                    identities.append(listed)
        spec = {
            "account": store.account,
            "containers": [{"name": store.container}],
            "owner": "platform",
            "checkpointSize": str(store.checkpoint),
            "identities": identities,
        }
        return change_of(START - HOUR, "there", "WeightStore", "", store.name, spec)

    def _signs_in(self, one: Principal, day: int, event: str) -> Happening:
        spec = {"clientId": one.ids(day)[1], "tenant": ""}
        at = START + day * DAY - (HOUR if day == 0 else -60)
        return change_of(at, event, "ServiceAccount", one.namespace, one.account, spec)

    def _grant(self, one: Principal, day: int) -> Happening:
        at, lapse = START + day * DAY + 1, START + one.lapses[0] * DAY
        end = min(at + 62 * DAY, lapse) if at < lapse else at + 62 * DAY
        spec = {
            "store": one.store.name,
            "rights": ["read", "write", "delete"],
            "reason": "work",
            "expiresAt": text_of(end)[:19] + "Z",
            "serviceAccounts": [one.account],
            "people": [one.human],
        }
        name = f"grant-{one.number}-{day}"
        return change_of(
            at, "approved", "AccessGrant", one.namespace, name, spec, ["oid:1", "oid:2"]
        )

    def _decision(self, one: Principal, uid: str, at: float) -> bytes:
        return msgspec.json.encode(
            {
                "format": 1,
                "id": stable_id(int(at * 1000), "decision", uid),
                "time": text_of(at),
                "cluster": CLUSTER,
                "source": "validate",
                "request": {
                    "uid": uid,
                    "operation": "CREATE",
                    "kind": "Pod",
                    "version": "v1",
                    "objectUid": uid,
                },
                "requester": one.human,
                "verdict": "allow",
                "allowed": True,
            }
        )

    def _person(self, number: int) -> Principal:
        place, job = (number - 0.5) / self.shape.principals, Job.RESEARCH
        for each, share in SHARES.items():
            if place < share:
                job = each
                break
            place -= share
        one = Principal(number, job, self.draw.choice(STORES))
        one.appetite = math.exp(self.draw.gauss(0, 0.5))
        one.weekday, one.agent = self.draw.randrange(5), self.draw.randrange(100)
        days = self.shape.days
        if job is Job.RESEARCH and self.draw.random() < 0.25:
            one.joins = self.draw.randrange(1, days)
        if job is Job.RESEARCH and self.draw.random() < 0.15:
            one.leaves = self.draw.randrange(one.joins + 1, days + 100)
        if job in {Job.EVALUATE, Job.SERVE} and self.draw.random() < 0.05:
            one.changes = self.draw.randrange(days // 3, days)
        return one


def change_of(  # noqa: PLR0913, PLR0917  One argument a field.
    at: float,
    event: str,
    kind: str,
    namespace: str,
    name: str,
    spec: dict[str, Any],
    approvers: list[str] | None = None,
) -> Happening:
    """Return the record of a change that the cluster saw."""
    change = ObjectChange(
        format=FORMAT,
        id=stable_id(int(at * 1000), "change", kind, namespace, name, event),
        time=text_of(at),
        cluster=CLUSTER,
        event=event,
        kind=kind,
        namespace=namespace,
        name=name,
        uid=f"{kind}-{namespace}-{name}",
        digest="sha256:0",
        approvers=approvers or [],
        spec=spec,
    )
    return Happening(at, FrameKind.CHANGE, encode_change(change))
