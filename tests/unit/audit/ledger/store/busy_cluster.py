"""Decisions of a busy cluster, in batches as the shipper sends them, millions if need be."""

import random
import uuid
from collections.abc import Iterator

from audit.ledger.records.frames import Frame, FrameKind
from core.base.ids import uuid7, uuid7_time
from core.decision.decision import Verdict
from core.decision.document import encode_document
from tests.unit.audit.ledger.store.documents import NOW_MS, document

BATCH = 2000
"""Frames that the shipper sends at once."""

BUSIEST = "team-0"
"""The namespace of a third of all decisions; 400 namespaces share the rest, some with few."""

QUIET = "team-390"

_MODELS = 4000
_MODEL_ID = uuid7(NOW_MS)
_MODEL_JOB = "job-0000000"


def crowd(count: int, since_ms: int, until_ms: int) -> Iterator[list[Frame]]:
    """Yield batches, in the order of time as decisions come; one in fifty is a refusal.

    The jobs have 64 Pods each, one after another; what differs between Pods of a model is the
    id, the time and the job.
    """
    chance = random.Random(1)  # noqa: S311 (a test's variety)
    models = [_model(chance, number) for number in range(_MODELS)]
    step = (until_ms - since_ms) / count
    for start in range(0, count, BATCH):
        numbers = range(start, min(start + BATCH, count))
        yield [
            _frame(models[chance.randrange(_MODELS)], int(since_ms + number * step), number // 64)
            for number in numbers
        ]


def _model(chance: random.Random, number: int) -> bytes:
    team = 0 if chance.random() < 1 / 3 else number % 400
    refused = number < 400 and number % 5 == 0
    made = document(
        verdict=Verdict.DENY if refused else Verdict.ALLOW,
        id=_MODEL_ID,
        namespace=f"team-{team}",
        name=f"{_MODEL_JOB}-worker-{number % 64}",
        requester=f"system:serviceaccount:{_asks(chance, team)}",
    )
    return encode_document(made)


def _asks(chance: random.Random, team: int) -> str:
    """Name who asks: for most Pods a controller of Kubernetes, else one of 5,200 accounts."""
    if chance.random() < 3 / 4:
        return f"kube-system:{chance.choice(('job', 'replicaset', 'statefulset'))}-controller"
    return f"team-{team}:runner-{chance.randrange(13)}"


def _frame(model: bytes, at_ms: int, job: int) -> Frame:
    decision_id = uuid7(at_ms)
    payload = (
        model.replace(_MODEL_ID.encode(), decision_id.encode(), 1)
        .replace(uuid7_time(_MODEL_ID).encode(), uuid7_time(decision_id).encode(), 1)
        .replace(_MODEL_JOB.encode(), f"job-{job:07}".encode(), 1)
    )
    return Frame(FrameKind.DECISION, uuid.UUID(decision_id).bytes, payload)
