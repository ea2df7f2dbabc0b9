"""What an allowlist's conditions say, and which changes are told."""

from ipaddress import ip_network
from typing import Any, Final

import msgspec
import pytest

from control.egress import status as telling
from control.egress.status import AllowlistSituation, allowlist_event, status_changes, status_of
from core.approvals.break_glass_egress import BreakGlassOpening
from core.egress.destinations import PortRange
from core.egress.enrolment import NOTHING_CLOSED, WHOLLY_CLOSED, Closure
from core.kubernetes.conditions import Condition
from egress.model.openings import Addresses, Block, Name, Opening, Problem
from kube.egress.watch import Intent, IntentStatus
from tests.unit.egress.allowlist_objects import allowlist

INTENT = Intent(
    namespace="a",
    name="one",
    uid="uid",
    generation=7,
    deleting=False,
    finalizers=(),
    version="1",
    status=IntentStatus(),
    allowlist=None,
    problem="",
)
PORTS = (PortRange("TCP", 443, 443),)
OPENING = Opening("one", "spec.to[0]", (), Addresses((Block(ip_network("192.0.2.0/24")),)), PORTS)
CLOSED = Problem("one", "spec.to[1].dnsName", "Unresolved", "no answer")
NOW, LATER = 1_800_000_000.0, 1_800_000_060.0

AUDITED: Final = Closure(labels_pods=True)


def inside(
    openings: tuple[Opening, ...] = (), problems: tuple[Problem, ...] = (), **more: Any
) -> AllowlistSituation:
    """Return a situation in an enrolled namespace."""
    return AllowlistSituation(closure=WHOLLY_CLOSED, openings=openings, problems=problems, **more)


def ready(situation: AllowlistSituation, intent: Intent = INTENT) -> Condition:
    """Return the condition Ready."""
    found = status_of(intent, situation, NOW).condition(telling.READY)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("situation", "reason", "said"),
    [
        (
            AllowlistSituation(closure=WHOLLY_CLOSED, openings=(OPENING,)),
            "Open",
            "all that it names",
        ),
        (
            AllowlistSituation(closure=NOTHING_CLOSED, openings=(OPENING,)),
            "NotEnrolled",
            "is not enrolled",
        ),
        (inside((OPENING,), (CLOSED,)), "PartlyOpen", "spec.to[1].dnsName: no answer"),
        (inside((), (CLOSED,)), "Closed", "no answer"),
        (inside((), (Problem("one", "", "Expired", "over"),)), "Expired", "over"),
        (inside((), (Problem("one", "", "NotApproved", "two"),)), "NotApproved", "two"),
        (inside((OPENING,), failures=("quota",)), "NotWritten", "quota"),
        (inside((OPENING,), taken=("x",)), "NameTaken", "x"),
    ],
)
def test_each_situation_has_its_reason(
    situation: AllowlistSituation, reason: str, said: str
) -> None:
    """The reason is one word for programs, and the message says what to do."""
    found = ready(situation)
    assert found.reason == reason
    assert said in found.message
    assert found.status == ("True" if reason == "Open" else "False")
    assert found.observed_generation == 7


def test_one_that_cannot_be_read_says_why() -> None:
    """Whatever else is wrong."""
    broken = msgspec.structs.replace(INTENT, problem="EgressAllowlist one: spec.to: is missing")
    assert ready(AllowlistSituation(closure=NOTHING_CLOSED), broken).reason == "Invalid"


def test_times_change_with_the_status_alone() -> None:
    """A message that changes leaves lastTransitionTime as it is."""
    first = status_of(INTENT, inside((OPENING,), (CLOSED,)), NOW)
    held = msgspec.structs.replace(INTENT, status=first)
    other = Problem("one", "", "Unresolved", "still no answer")
    second = status_of(held, inside((OPENING,), (other,)), LATER)
    third = status_of(held, inside((OPENING,)), LATER)
    times = [one.condition("Ready") for one in (first, second, third)]
    assert [each.last_transition_time if each else "" for each in times] == [
        "2027-01-15T08:00:00Z",
        "2027-01-15T08:00:00Z",
        "2027-01-15T08:01:00Z",
    ]
    assert status_of(held, inside((OPENING,), (CLOSED,)), LATER) == first


def test_warnings_and_old_answers_are_told_beside() -> None:
    """They close nothing."""
    problem = Problem("one", "spec.to[0].serviceTag", "Broad", "of all tenants", closes=False)
    situation = inside((OPENING,), (problem,), notes=("what was known still counts: x",))
    found = status_of(INTENT, situation, NOW)
    warned = found.condition(telling.WARNED)
    assert warned is not None
    assert warned.message == (
        "spec.to[0].serviceTag: of all tenants; what was known still counts: x"
    )
    assert ready(situation).status == "True"


LEARNT = Problem("one", "spec.to[0].dnsName", "Learning", "a.b is being learnt", closes=False)


def test_what_is_learnt_is_not_open() -> None:
    """Ready says so with the same words; what stays closed for another reason goes first."""
    found = status_of(INTENT, inside((OPENING,), (LEARNT,)), NOW)
    learning, warned = found.condition(telling.LEARNING), found.condition(telling.WARNED)
    assert learning is not None
    said = "spec.to[0].dnsName: a.b is being learnt"
    assert (learning.status, learning.reason, learning.message) == ("True", "NotSettled", said)
    assert warned is not None
    assert warned.status == "False", "it is told once"
    is_ready = ready(inside((OPENING,), (LEARNT,)))
    assert (is_ready.status, is_ready.reason, is_ready.message) == ("False", "Learning", said)
    assert ready(inside((OPENING,), (LEARNT, CLOSED))).reason == "PartlyOpen"


def test_learning_ends_with_its_names() -> None:
    """The condition stays, and is False; allowlists that never learnt have none."""
    assert status_of(INTENT, inside((OPENING,)), NOW).condition(telling.LEARNING) is None
    held = msgspec.structs.replace(INTENT, status=status_of(INTENT, inside((), (LEARNT,)), NOW))
    for after in (
        inside((OPENING,)),
        AllowlistSituation(closure=NOTHING_CLOSED, problems=(LEARNT,)),
    ):
        found = status_of(held, after, LATER).condition(telling.LEARNING)
        assert found is not None
        assert (found.status, found.reason) == ("False", "Settled")
        assert found.last_transition_time == "2027-01-15T08:01:00Z"


def test_addresses_are_counted() -> None:
    """Those of names, each once, and networks."""
    name = Name("a.b", (ip_network("192.0.2.7/32"), ip_network("192.0.2.8/32")))
    again = msgspec.structs.replace(OPENING, peer=name)
    assert status_of(INTENT, inside((OPENING, again, again)), NOW).addresses == 3


def test_messages_stay_short() -> None:
    """However much is wrong."""
    many = tuple(Problem("one", f"spec.to[{n}]", "Unresolved", "x" * 100) for n in range(64))
    assert len(ready(inside((), many)).message) <= 1000


def _status(reason: str, status: str = "False") -> IntentStatus:
    return IntentStatus(1, 0, (Condition("Ready", status, reason, "why"),))


OPEN = _status("Open", "True")


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (IntentStatus(), OPEN, []),
        (IntentStatus(), _status("Closed"), []),
        (IntentStatus(), _status("Learning"), []),
        (_status("Learning"), OPEN, ["Normal"]),
        (OPEN, _status("Learning"), ["Warning"]),
        (IntentStatus(), _status("NotApproved"), ["Warning"]),
        (OPEN, _status("Closed"), ["Warning"]),
        (_status("Closed"), OPEN, ["Normal"]),
        (OPEN, _status("Deleted"), []),
        (OPEN, _status("NotEnrolled"), []),
        (_status("NotEnrolled"), OPEN, []),
        (OPEN, OPEN, []),
        (_status("Closed"), _status("Closed"), []),
    ],
)
def test_transitions_are_told_once(
    before: IntentStatus, after: IntentStatus, told: list[str]
) -> None:
    """What a person should know, and no flood of the rest."""
    assert [kind for kind, _, _ in status_changes(before, after)] == told


def test_the_same_event_has_the_same_name() -> None:
    """kube-apiserver refuses it for an hour; another message is another Event."""
    one = allowlist_event(INTENT, ("Warning", "Closed", "why"), NOW)["metadata"]["name"]
    assert one == allowlist_event(INTENT, ("Warning", "Closed", "why"), LATER)["metadata"]["name"]
    assert one != allowlist_event(INTENT, ("Warning", "Closed", "other"), NOW)["metadata"]["name"]


def test_a_name_that_waits_for_two_people_is_not_approved() -> None:
    """Though the rest of the allowlist is open; that of a set is the set's own."""
    waiting = Problem("one", "spec.to[0].dnsName", "NotApproved", "two people must approve it")
    said = status_of(INTENT, inside((OPENING,), (waiting,), broad="a leads to b"), NOW)
    approved = said.condition(telling.APPROVED)
    assert approved is not None
    assert (approved.status, approved.reason) == ("False", "NotApproved")
    of_set = "spec.to[0] (EgressDestinations x: spec.to[0]).dnsName"
    other = msgspec.structs.replace(waiting, path=of_set)
    approved = status_of(INTENT, inside((OPENING,), (other,), broad="a"), NOW).condition("Approved")
    assert approved is not None
    assert approved.status == "True"


REACH: Final = "everywhere but to reserved ranges, by BreakGlass fire until 2027-01-15T08:00:00Z"
OF_ALL: Final = BreakGlassOpening("fire", NOW)
OF_FETCH: Final = BreakGlassOpening("fire", NOW, ("Job.fetch",), ("Job/fetch",))


@pytest.mark.parametrize(
    ("opening", "workloads", "told"),
    [
        (OF_ALL, [], f"all Pods connect {REACH}"),
        (OF_ALL, ["train"], f"all Pods connect {REACH}"),
        (OF_FETCH, [], f"Pods of Job/fetch connect {REACH}"),
        (OF_FETCH, ["train", "fetch"], f"Pods of Job/fetch connect {REACH}"),
        (OF_FETCH, ["train"], ""),
    ],
    ids=["all", "all and a workload", "any workload", "its workload", "another workload"],
)
def test_a_break_glass_is_told_by_the_allowlists_of_whom_it_opens(
    opening: BreakGlassOpening, workloads: list[str], told: str
) -> None:
    """That of a workload that stays closed says nothing of it, whether all of it is open or not."""
    narrowed = [{"kind": "Job", "name": each} for each in workloads]
    spec: dict[str, Any] = {"workloads": narrowed} if narrowed else {}
    intent = msgspec.structs.replace(INTENT, allowlist=allowlist({"cidr": "192.0.2.0/24"}, **spec))
    warned = status_of(intent, inside((OPENING,), opened=(opening,)), NOW).condition(telling.WARNED)
    assert warned is not None
    assert (warned.status, warned.message) == ("True" if told else "False", told)
    closed = ready(inside((), (CLOSED,), opened=(opening,)), intent)
    assert closed.message == "; ".join(filter(None, (told, "spec.to[1].dnsName: no answer")))


def test_one_that_cannot_be_read_tells_of_a_break_glass() -> None:
    """Whose Pods it is for is not known."""
    broken = msgspec.structs.replace(INTENT, problem="EgressAllowlist one: spec.to: is missing")
    warned = status_of(broken, inside(opened=(OF_FETCH,)), NOW).condition(telling.WARNED)
    assert warned is not None
    assert warned.message == f"Pods of Job/fetch connect {REACH}"


def test_a_break_glass_that_opens_not_all_is_warned_of_and_opens_nothing_in_words() -> None:
    """Neither the condition Ready nor Warned says that anything is open by it."""
    why = "BreakGlass fire does not open all that it says: exceeded quota"
    situation = inside((), (CLOSED,), unopened=why)
    warned = status_of(INTENT, situation, NOW).condition(telling.WARNED)
    assert warned is not None
    assert (warned.status, warned.message) == ("True", why)
    assert ready(situation).message == "spec.to[1].dnsName: no answer"
