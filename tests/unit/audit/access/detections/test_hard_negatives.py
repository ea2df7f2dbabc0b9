"""Life that looks like an attack: no detection raises more than a low finding, most raise none."""

from collections.abc import Sequence
from typing import Any, Final

import pytest

from audit.access.detections.engine import DetectionEngine
from audit.access.ingest.event_order import event_seconds
from audit.access.model.detection import Event
from audit.access.model.findings import moment_text
from core.weights.documents.access import Act, Caller
from core.weights.documents.events import Severity, Topic
from tests.unit.audit.access.detections.credentials.stories import TRAIN, trusted
from tests.unit.audit.access.detections.events import (
    BOB,
    access,
    activity,
    at,
    attributed,
    delete,
    pod,
    reads,
    shown,
    write,
)
from tests.unit.audit.access.detections.storage_requests import copied, habit

CAROL: Final = "33333333-3333-3333-3333-333333333333"


def restart_after_a_node_failed() -> Sequence[Event]:
    """A job of 40 shards starts again nine times in a night, on other nodes each time."""
    return [
        *habit(range(20), 40),
        *(
            one
            for again in range(9)
            for one in reads(
                at(20, 1 + again),
                range(40),
                address=f"10.0.{again}.4",
                token=f"new-{again}",
                attribution=attributed(pod(f"train-{again}")),
            )
        ),
    ]


def first_week_of_a_researcher() -> Sequence[Event]:
    """Granted, admitted, from a notebook; each day some other shards."""
    told: dict[str, Any] = {"principal": CAROL, "application": "c3"}
    return [
        *habit(range(20)),
        *(one for day in range(20, 27) for one in reads(at(day, 9), range(day, day + 6), **told)),
    ]


def evaluation_at_the_months_end() -> Sequence[Event]:
    """Two evenings in which ten times as much is read, as on two evenings of the month before."""
    return [
        *habit(range(26), 8),
        *(one for day in (27, 28) for one in reads(at(day, 18), range(70), f"eval-{day}")),
        *habit(range(30, 56), 8),
        *(one for day in (57, 58) for one in reads(at(day, 18), range(75), f"eval-{day}")),
    ]


def rotation_of_keys() -> Sequence[Event]:
    """The operator's automation, which its settings name, makes new keys each month."""
    return [
        activity(at(day), topic, principal=CAROL)
        for day in (1, 31, 61)
        for topic in (Topic.KEY_REGENERATED, Topic.KEYS_LISTED)
    ]


def backups_within_the_account() -> Sequence[Event]:
    """Each night a checkpoint is copied into the archive, and old ones go."""
    return [
        one
        for day in range(30)
        for one in (
            *copied(at(day, 3), container="archive", blob=f"step-{day}"),
            delete(at(day, 4), f"step-{day - 7}", container="archive"),
        )
    ]


def identity_replaced() -> Sequence[Event]:
    """A new identity reads what the old one did, with the same service account and grant."""
    green: dict[str, Any] = {"principal": CAROL, "application": "c-green", "token": "t-green"}
    return [
        *habit(range(20), 20),
        trusted(20, TRAIN, name="green"),
        *habit(range(20, 34), 20, **green),
    ]


def source_nat() -> Sequence[Event]:
    """Pods leave by a pool of listed addresses, and by their nodes'."""
    places = [
        ("192.0.2.1", Caller.NETWORK),
        ("192.0.2.2", Caller.NETWORK),
        ("10.0.0.4", Caller.NODE),
    ]
    return [
        access(at(1, n / 10), address=places[n % 3][0], caller=places[n % 3][1], blob=f"s{n % 5}")
        for n in range(60)
    ]


def ten_to_two_thousand_pods() -> Sequence[Event]:
    """Each Pod lists once and reads five shards; they come within minutes, on 500 nodes."""
    fleet = []
    for n in range(2000):
        told: dict[str, Any] = {
            "address": f"10.1.{n % 2}.{n % 250}",
            "token": f"p{n}",
            "attribution": attributed(pod(f"p-{n}")),
        }
        begin = at(20, 9) + n / 5
        fleet.append(access(begin, operation="ListBlobs", act=Act.LIST, blob="", **told))
        fleet += reads(begin + 1, range(5), **told)
    return [*habit(range(20)), *fleet]


def checkpoints_that_rotate() -> Sequence[Event]:
    """A trainer writes each two hours, an evaluator reads once, the fourth last goes."""
    events: list[Event] = []
    for n in range(60):
        begin = at(0, 2 * n)
        events += [write(begin + k, f"step-{n}/{k}") for k in range(8)]
        evaluate: dict[str, Any] = {"principal": BOB, "application": "c2", "token": "t2"}
        events += [access(begin + 1800 + k, blob=f"step-{n}/{k}", **evaluate) for k in range(8)]
        events += [delete(begin + 3600 + k, f"step-{n - 4}/{k}") for k in range(8)]
    return events


def holiday() -> Sequence[Event]:
    """Two weeks in which nobody comes; then all goes on."""
    return [*habit(range(20), 10), *habit(range(34, 50), 10)]


def log_of_hours_ago() -> Sequence[Event]:
    """Half of a day's records come after the next day's began."""
    events = list(habit(range(16), 20))
    late = [one for one in events[-40:] if int(event_seconds(one)) % 20 == 0]
    rest = [one for one in events if one not in late]
    return [*rest, *late, *habit(range(16, 20), 20)]


LIVES: Final = (
    restart_after_a_node_failed,
    first_week_of_a_researcher,
    rotation_of_keys,
    backups_within_the_account,
    identity_replaced,
    source_nat,
    ten_to_two_thousand_pods,
    checkpoints_that_rotate,
    holiday,
    log_of_hours_ago,
)


@pytest.mark.parametrize("life", LIVES, ids=lambda life: life.__name__)
def test_what_looks_like_an_attack_and_is_none_is_quiet(life: Any) -> None:
    """All detections see it, with a trusted issuer and the operator's automation known."""
    engine = DetectionEngine(expected={"keys-and-logging": frozenset({f"oid:{CAROL}"})})
    shown([trusted(0, TRAIN)], engine=engine)
    events = life()
    assert len(events) > 5
    found = shown(events, engine=engine)
    loud = [(one.detection, one.title) for one in found if one.severity is not Severity.LOW]
    assert loud == []
    assert len(found) <= 1, [one.title for one in found]


def test_an_evaluation_at_the_months_end_is_news_once() -> None:
    """The second month, what was done on two days of the first one is usual."""
    found = shown(evaluation_at_the_months_end())
    assert {one.detection for one in found} == {"volume-above-baseline"}
    assert max(one.time for one in found) < moment_text(at(29))


def test_the_same_life_with_an_intruder_is_not_quiet() -> None:
    """What keeps detections quiet is not that they see nothing."""
    intruder: dict[str, Any] = {"principal": CAROL, "address": "203.0.113.7", "token": "t9"}
    told: dict[str, Any] = {"caller": Caller.PUBLIC, "grant": "", "ungranted": "none"}
    told["attribution"] = attributed()
    for life in LIVES[:3]:
        events = [*life(), *reads(at(70), range(70), "step-5", **intruder, **told)]
        found = {one.detection for one in shown(events) if one.severity is not Severity.LOW}
        assert {"ungranted", "no-live-pod"} <= found
