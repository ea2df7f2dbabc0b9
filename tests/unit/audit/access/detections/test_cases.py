"""Findings that belong to one story become one case; others stay apart."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.access import cases
from audit.access.cases import PHASE_OF, PHASES, FindingCase, build_cases, phase_of
from audit.access.detections.catalogue import DETECTIONS
from audit.access.model.findings import moment_text
from core.base.ids import stable_id
from core.weights.documents.events import FORMAT, Finding, Severity
from tests.unit.audit.access.detections.events import ANN, BOB, SHARD, at, shown
from tests.unit.audit.access.detections.test_engine import story

LOW, MEDIUM, HIGH, CRITICAL = Severity


def finding(day: float, detection: str = "ungranted", **over: Any) -> Finding:
    """Make a finding about Ann at a store."""
    told: dict[str, Any] = {
        "severity": MEDIUM,
        "store": "frontier",
        "account": "weightsa",
        "who": f"oid:{ANN}",
        "title": "something",
        "detail": "d",
        "remedy": "r",
        "techniques": [],
        "first": moment_text(at(day)),
        **over,
    }
    made = stable_id(round(at(day) * 1000), "finding", detection, str(told))
    time: dict[str, Any] = {
        "id": made,
        "time": moment_text(at(day)),
        "cluster": "east",
        "format": FORMAT,
    }
    return Finding(**time, detection=detection, **told)


def told(*findings: Finding, **over: Any) -> list[FindingCase]:
    """Return the cases."""
    return build_cases(findings, **over).cases


def test_days_of_one_principal_at_one_store_are_one_case() -> None:
    """A weekend between them is bridged; a week is not."""
    (case,) = told(finding(1), finding(3.5), finding(6))
    assert (case.findings, case.begin, case.end) == (3, moment_text(at(1)), moment_text(at(6)))
    assert len(told(finding(1), finding(9))) == 2


def test_a_finding_that_rests_on_earlier_events_reaches_back() -> None:
    """Slow exfiltration that began weeks ago belongs to what was found then."""
    slow = finding(20, "slow-exfiltration", first=moment_text(at(2)))
    assert len(told(finding(1), slow)) == 1


def test_others_at_the_same_store_are_another_story() -> None:
    """Nothing joins two principals that share nothing."""
    assert len(told(finding(1), finding(1.1, who=f"oid:{BOB}"))) == 2


def test_a_pod_a_human_or_an_address_joins_principals() -> None:
    """Whoever reads as two identities, or from one strange address, is one story."""
    threads: list[dict[str, Any]] = [
        {"pods": ["r/p"]},
        {"requesters": ["oid:h"]},
        {"addresses": ["203.0.113.7"]},
    ]
    for shared in threads:
        (case,) = told(finding(1, **shared), finding(2, who=f"oid:{BOB}", **shared))
        assert case.who == [f"oid:{ANN}", f"oid:{BOB}"]
        assert len(case.joined_by) == 1
    human = finding(1, requesters=[f"oid:{BOB}"])
    assert len(told(human, finding(2, "access-at-risk", who=f"oid:{BOB}", store="small"))) == 1


def test_what_many_share_joins_nothing() -> None:
    """A NAT gateway, or a platform team, is behind everything."""
    many = [finding(1 + n / 100, who=f"oid:{n}", addresses=["10.0.0.4"]) for n in range(6)]
    assert len(told(*many)) == 6
    two = [finding(1, addresses=["10.0.0.4"]), finding(1, who="oid:2", addresses=["10.0.0.4"])]
    assert len(told(*two)) == 1
    assert len(told(*two, networks=["10.0.0.4"])) == 2


def test_keys_that_were_listed_and_the_read_by_key_are_one_story() -> None:
    """The read has no principal; the account and the days join them."""
    listed = finding(1, "keys-and-logging", who=f"oid:{BOB}", severity=HIGH, store="frontier")
    read = finding(2, "key-or-anonymous-read", who="account-key:k", severity=HIGH)
    (case,) = told(read, listed)
    assert case.detections == ["keys-and-logging", "key-or-anonymous-read"]
    assert case.joined_by == ["what was done to the account weightsa"]
    assert len(told(listed, finding(5.5, "key-or-anonymous-read", who="account-key:k"))) == 2
    assert len(told(read, finding(2.5, "keys-and-logging", who=f"oid:{BOB}"))) == 2
    elsewhere = finding(2, "key-or-anonymous-read", who="account-key:k", account="weightsb")
    assert len(told(listed, elsewhere)) == 2


def test_what_was_done_to_an_account_takes_in_nothing_that_does_not_come_of_it() -> None:
    """Keys that are listed do not explain a trainer that reads more than it is used to."""
    listed = finding(1, "keys-and-logging", who=f"oid:{BOB}")
    assert len(told(listed, finding(1.5, "volume-above-baseline"))) == 2


def test_a_case_tells_its_story_in_order() -> None:
    """Timeline by time, techniques by phase, bytes once, graver than each where phases are many."""
    (case,) = told(
        finding(3, "copy-out", severity=HIGH, techniques=["T1537"]),
        finding(1, "enumeration", severity=LOW, techniques=["T1619"]),
        finding(2, "ungranted", severity=HIGH, bytes=SHARD, techniques=["T1530"]),
        finding(2.1, "volume-above-baseline", bytes=SHARD - 1, techniques=["T1530"]),
    )
    assert [one.detection for one in case.steps] == [
        "enumeration",
        "ungranted",
        "volume-above-baseline",
        "copy-out",
    ]
    assert case.techniques == ["T1619", "T1530", "T1537"]
    assert case.phases == ["discovery", "collection", "exfiltration"]
    assert case.severity is CRITICAL
    assert case.bytes == SHARD
    assert len(case.title) < 120


def test_the_gravest_case_comes_first() -> None:
    """And of equals the longest."""
    found = told(
        finding(1, who="oid:a"),
        *(finding(1 + n, who="oid:b") for n in range(3)),
        finding(1, who="oid:c", severity=CRITICAL),
    )
    assert [case.who for case in found] == [["oid:c"], ["oid:b"], ["oid:a"]]


def test_long_cases_keep_the_gravest_steps_and_say_how_many_more() -> None:
    """A timeline of thousands of lines is read by nobody."""
    some = [finding(1 + n / 1000, severity=LOW) for n in range(700)]
    (case,) = told(*some, finding(1.9, severity=HIGH))
    assert (case.findings, len(case.steps), case.more_steps) == (701, cases.MOST_STEPS, 201)
    assert case.steps[-1].severity is HIGH


def test_too_many_findings_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The latest are looked at, and what is left out is told."""
    monkeypatch.setattr(cases, "MOST_FINDINGS", 20)
    found = build_cases(finding(1 + n) for n in range(50))
    assert sum(case.findings for case in found.cases) == 20
    assert found.left_out == 30
    assert min(case.begin for case in found.cases) == moment_text(at(31))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_the_order_of_findings_changes_nothing(seed: int) -> None:
    """The same findings give the same cases, with the same ids."""
    found = shown(story())
    mixed = [*found, *found[::3]]
    random.Random(seed).shuffle(mixed)  # noqa: S311  no secret
    assert build_cases(mixed) == build_cases(found)


def test_an_intruders_story_is_one_case() -> None:
    """Keys listed, read with one, and what Bob did besides."""
    first = build_cases(shown(story())).cases[0]
    assert first.severity is CRITICAL
    assert {"keys-and-logging", "key-or-anonymous-read"} <= set(first.detections)
    assert {f"oid:{BOB}"} <= set(first.who)


def test_each_detection_has_a_phase() -> None:
    """A new one must say where in a story it stands."""
    assert {phase_of(each.id) for each in DETECTIONS} == set(PHASES)
    assert PHASE_OF.keys() == {each.id for each in DETECTIONS}
