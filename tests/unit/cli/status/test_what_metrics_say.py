"""Spools, the ledger, certificates, egress and risk, as processes show them at `/metrics`."""

import datetime as dt
from typing import Final

import msgspec
import pytest

from cli.shared.cluster_status.certificates import read_certificate_ends
from cli.shared.cluster_status.model import AreaFindings, PodStatus, ProcessStatus
from cli.shared.cluster_status.process_metrics import ProcessMetrics, parse_metrics
from cli.shared.cluster_status.processes import ProcessesSeen
from cli.shared.cluster_status.records import read_ledger, read_recording
from cli.shared.cluster_status.registrations import judge_comparison
from cli.shared.cluster_status.run import recorded_words
from cli.shared.cluster_status.signals import read_egress, read_identity
from core.base.errors import ClusterError

NOW: Final = dt.datetime(2026, 11, 1, 3, tzinfo=dt.UTC)
MIB: Final = 1024 * 1024


def seen(**texts: str) -> ProcessesSeen:
    """Return one Pod of each process, with what it shows."""
    processes = {
        name: ProcessStatus(
            name=name,  # type: ignore[arg-type]  # One of the three.
            wanted=1,
            ready=1,
            restarts=0,
            chart="",
            images=[],
            pods=[],
        )
        for name in texts
    }
    return ProcessesSeen(processes, {name: {f"{name}-0": read(t)} for name, t in texts.items()})


def read(text: str) -> ProcessMetrics:
    """Return metrics of Prometheus' text format."""
    return parse_metrics(text, "Pod x")


def pod(name: str, since: str) -> PodStatus:
    """Return a Pod, which runs since then."""
    return PodStatus(
        name=name, ready=bool(since), since=since, restarts=0, waiting="", version="", missing=""
    )


LOST: Final = 'sallyport_unrecorded_decisions_total{outcome="refused"}'
LAST: Final = "sallyport_unrecorded_last_timestamp_seconds"


def spool(held: int, oldest: float, full: int = 0, left: str = "NaN", lost: int = 0) -> str:
    """Return what a spool of 1 GiB shows."""
    return (
        f"sallyport_spool_bytes {held}\nsallyport_spool_max_bytes {1024 * MIB}\n"
        f"sallyport_spool_oldest_seconds {oldest}\nsallyport_spool_full {full}\n"
        f"sallyport_spool_seconds_left {left}\n{LOST} {lost}\n"
    )


def test_a_spool_that_empties_is_well() -> None:
    """What waits for seconds is no fault, and no time is guessed."""
    found = AreaFindings("recording")
    (shown,) = read_recording(seen(gate=spool(MIB, 2.0), auditor=""), found, NOW)
    assert (found.problems, found.gaps) == ([], [])
    assert shown.hours_left is None


@pytest.mark.parametrize(
    ("left", "severity", "section"),
    [
        (54000, "warning", "sallyportnothingshipped"),
        (14000, "critical", "sallyportspoolfills"),
    ],
)
def test_a_spool_that_nobody_empties_says_for_how_many_hours_there_is_room(
    left: int, severity: str, section: str
) -> None:
    """Below four hours it is critical, as the alert has it."""
    found = AreaFindings("recording")
    text = spool(64 * MIB, 3600.0, left=str(left))
    (shown,) = read_recording(seen(gate=text, auditor=""), found, NOW)
    hours = round(left / 3600, 1)
    assert shown.hours_left == hours
    (problem,) = found.problems
    assert problem.what == (
        f"gate-0: the auditor has acknowledged nothing for 60 minutes; full in {hours:g} hours"
    )
    assert (problem.severity, problem.see) == (severity, f"docs/operate/alerts.md#{section}")


def test_a_full_spool_is_critical() -> None:
    """Whatever its age."""
    found = AreaFindings("recording")
    read_recording(seen(gate=spool(1024 * MIB, 9.0, full=1), auditor=""), found, NOW)
    (problem,) = found.problems
    assert (problem.severity, problem.see) == (
        "critical",
        "docs/operate/alerts.md#sallyportspoolfull",
    )


def test_gates_that_show_no_spool_are_not_taken_for_recording() -> None:
    """An auditor is there and nobody says that it records."""
    found = AreaFindings("recording")
    texts = {"gate": f"{LOST} 0\n", "control": spool(MIB, 2.0), "auditor": ""}
    read_recording(seen(**texts), found, NOW)
    assert [each.why for each in found.gaps] == ["gate-0 does not say whether it records"]


def test_a_gate_that_runs_and_cannot_be_asked_is_not_taken_for_recording() -> None:
    """Others that record say nothing of it; one that has yet to run is no gap."""
    found = AreaFindings("recording")
    asked = seen(gate=spool(MIB, 2.0), auditor="")
    pods = [pod("gate-0", str(NOW)), pod("gate-1", str(NOW)), pod("gate-2", "")]
    gates = msgspec.structs.replace(asked.processes["gate"], pods=pods)
    read_recording(ProcessesSeen({**asked.processes, "gate": gates}, asked.metrics), found, NOW)
    assert [each.why for each in found.gaps] == ["gate-1 does not say whether it records"]


@pytest.mark.parametrize("lacking", ["bytes", "max_bytes", "full", "oldest_seconds"])
def test_a_spool_of_which_something_is_not_shown_is_not_taken_for_empty(lacking: str) -> None:
    """What was not read is no 0."""
    found = AreaFindings("recording")
    lines = spool(MIB, 2.0).splitlines(keepends=True)
    text = "".join(each for each in lines if not each.startswith(f"sallyport_spool_{lacking} "))
    read_recording(seen(gate=text, auditor=""), found, NOW)
    assert [each.why for each in found.gaps] == ["gate-0 does not say whether it records"]


@pytest.mark.parametrize(
    ("last", "says", "is_problem"),
    [
        ("", "gate-0 has not recorded 2 decisions since it began", True),
        (f"{LAST} {NOW.timestamp() - 7200}\n", ", the last 2.0 hours ago", True),
        (f"{LAST} {NOW.timestamp() - 90000}\n", ", the last 25.0 hours ago", False),
    ],
    ids=["of a release before", "today", "yesterday"],
)
def test_what_was_not_recorded_is_a_problem_for_a_day(
    last: str, says: str, *, is_problem: bool
) -> None:
    """The count never falls; nothing is said to be recorded all the same."""
    found = AreaFindings("recording")
    lost = seen(gate=spool(MIB, 2.0, lost=2) + last, auditor="")
    read_recording(lost, found, NOW)
    told = [each.what for each in found.problems] if is_problem else found.notes
    assert len(told) == 1
    assert says in told[0]
    assert [each.severity for each in found.problems] == ["critical"] * is_problem
    assert "not all was" in recorded_words(lost)


def test_a_gate_that_does_not_count_what_it_lost_is_not_taken_for_recording() -> None:
    """What was not read is no 0."""
    found = AreaFindings("recording")
    text = spool(MIB, 2.0).partition(LOST)[0]
    read_recording(seen(gate=text, auditor=""), found, NOW)
    assert [each.why for each in found.gaps] == ["gate-0 does not say whether it recorded all"]


def test_the_summary_says_recorded_only_where_it_is() -> None:
    """With an auditor, and nothing lost."""
    assert recorded_words(seen(gate=spool(MIB, 2.0), auditor="")) == "what it decides is recorded"
    assert "there is no auditor" in recorded_words(seen(gate=""))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            f"sallyport_ledger_records 9\nsallyport_ledger_signed_records 7\n"
            f"sallyport_ledger_head_timestamp_seconds {NOW.timestamp() - 1200}\n",
            "2 records are not signed, the last head is 20 minutes old",
        ),
        (
            "sallyport_ledger_records 9000\n",
            "none of 9,000 records is signed: no head ever was",
        ),
        (
            "sallyport_ledger_records 9\nsallyport_ledger_signed_records 9\n"
            "sallyport_ledger_rows_outside 3\n",
            "the ledger has 3 rows that are not in its log: somebody else wrote them",
        ),
        (
            f'sallyport_ledger_seconds_left{{window="1d"}} {2.5 * 86400}\n'
            f'sallyport_ledger_seconds_left{{window="1h"}} {9 * 86400}\n',
            "the ledger is full in 2.5 days: 700 MiB are free",
        ),
        (
            f"sallyport_ledger_max_bytes {200 * MIB}\n",
            "the ledger is larger than its budget by 100 MiB",
        ),
        (
            f"sallyport_ledger_max_bytes {8000 * MIB}\n",
            "the ledger is nearly full: 700 MiB are free",
        ),
    ],
)
def test_a_ledger_in_trouble_is_named(text: str, what: str) -> None:
    """Each by its metric."""
    found = AreaFindings("ledger")
    room = f"sallyport_ledger_size_bytes {300 * MIB}\nsallyport_ledger_free_bytes {700 * MIB}\n"
    read_ledger(seen(auditor=room + text), found, NOW)
    assert [each.what for each in found.problems] == [what]


LEDGER: Final = (
    "sallyport_ledger_records 0\nsallyport_ledger_rows_outside 0\n"
    f"sallyport_ledger_size_bytes {MIB}\nsallyport_ledger_free_bytes {700 * MIB}\n"
)


@pytest.mark.parametrize(
    ("lacking", "says"),
    [
        ("none", None),
        ("records", "how many records"),
        ("rows_outside", "whether rows are outside"),
        ("free_bytes", "how much room"),
    ],
)
def test_what_the_auditor_does_not_say_is_unknown(lacking: str, says: str | None) -> None:
    """Room as with PostgreSQL without a budget: nobody would be warned before it is full."""
    found = AreaFindings("ledger")
    lines = LEDGER.splitlines(keepends=True)
    text = "".join(each for each in lines if not each.startswith(f"sallyport_ledger_{lacking} "))
    read_ledger(seen(auditor=text), found, NOW)
    assert found.area.state.value == ("unknown" if says else "well")
    assert len(found.gaps) == (says is not None)
    assert says is None or says in found.gaps[0].why


def test_an_auditor_that_could_not_be_asked_is_unknown() -> None:
    """It is there, and nobody knows what its ledger is like."""
    found = AreaFindings("ledger")
    assert read_ledger(ProcessesSeen(seen(auditor="").processes), found, NOW) is None
    assert [each.why for each in found.gaps] == ["the auditor could not be asked"]


def test_without_an_auditor_the_ledger_is_off() -> None:
    """It was not installed."""
    found = AreaFindings("ledger")
    assert read_ledger(seen(gate=""), found, NOW) is None
    assert found.area.state.value == "off"


def control(left: float) -> str:
    """Return what a leading control shows of a certificate of 90 days."""
    label = '{certificate="sallyport-gate-tls"}'
    return (
        f"sallyport_certificate_seconds_left{label} {left}\n"
        f"sallyport_certificate_lifetime_seconds{label} {90 * 86400}\n"
    )


@pytest.mark.parametrize(
    ("days", "severity"), [(60.0, None), (20.0, "warning"), (0.5, "critical"), (-1.0, "critical")]
)
def test_a_certificate_that_should_have_been_replaced_is_named(
    days: float, severity: str | None
) -> None:
    """Below a quarter of its life; critical on its last day and after it."""
    found = AreaFindings("certificates")
    (end,) = read_certificate_ends(seen(control=control(days * 86400)), found, NOW)
    assert end.name == "sallyport-gate-tls"
    assert [each.severity for each in found.problems] == ([severity] if severity else [])


def test_certificates_are_unknown_where_no_leader_shows_them() -> None:
    """What the gates hold is shown all the same."""
    found = AreaFindings("certificates")
    gate = f"sallyport_certificate_not_after_seconds {NOW.timestamp() + 86400 * 50}\n"
    ends = read_certificate_ends(seen(gate=gate, control="sallyport_leader 0\n"), found, NOW)
    assert [each.name for each in ends] == ["in gate-0"]
    assert found.area.state.value == "unknown"


def test_egress_that_cannot_be_written_is_named() -> None:
    """With how many namespaces."""
    found = AreaFindings("egress")
    text = (
        "sallyport_egress_namespaces_enrolled 3\nsallyport_egress_namespaces_failing 2\n"
        "sallyport_egress_foreign_policies 0\nsallyport_egress_names_taken 0\n"
    )
    read_egress(seen(control=text), found)
    (problem,) = found.problems
    assert problem.what == "the egress policies of 2 namespaces cannot be written"


def test_egress_of_which_something_is_not_shown_is_unknown() -> None:
    """What was not read is no 0."""
    found = AreaFindings("egress")
    read_egress(seen(control="sallyport_egress_namespaces_enrolled 3\n"), found)
    assert len(found.gaps) == 3


def test_egress_is_unknown_where_another_replica_leads() -> None:
    """NaN is what a replica shows that does not lead."""
    found = AreaFindings("egress")
    read_egress(seen(control="sallyport_egress_namespaces_enrolled NaN\n"), found)
    assert found.area.state.value == "unknown"


@pytest.mark.parametrize(
    ("age", "says"),
    [("30", None), ("1200", "20 minutes ago"), ("+Inf", "was never complete")],
)
def test_risk_that_is_old_is_named(age: str, says: str | None) -> None:
    """The older of users and service principals counts."""
    found = AreaFindings("identity")
    text = (
        f'sallyport_risk_age_seconds{{of="users"}} 30\n'
        f'sallyport_risk_age_seconds{{of="service-principals"}} {age}\n'
    )
    read_identity(seen(gate=text, control=""), found)
    whats = [each.what for each in found.problems]
    assert len(whats) == (says is not None)
    assert says is None or says in whats[0]


def test_what_is_no_metric_is_an_error() -> None:
    """Never an empty answer, which would be taken for well."""
    with pytest.raises(ClusterError, match="Pod x: /metrics cannot be read"):
        read("<html>sign in</html>")


HEALTHY: Final = 'sallyport_registration_healthy{kind="ValidatingAdmissionPolicy",name="a"} '


@pytest.mark.parametrize(
    ("text", "problems", "gaps"),
    [
        (f"sallyport_leader 1\nsallyport_gate_reached 1\n{HEALTHY}1\n", [], 0),
        (
            f"sallyport_leader 1\nsallyport_gate_reached 1\n{HEALTHY}0\n",
            ["not as the chart says it: a"],
            0,
        ),
        (
            f"sallyport_leader 1\nsallyport_gate_reached 0\n{HEALTHY}1\n",
            ["kube-apiserver does not reach a gate: what it asks is refused, or not judged yet"],
            0,
        ),
        (f"sallyport_leader 0\nsallyport_gate_reached NaN\n{HEALTHY}0\n", [], 1),
        ("sallyport_leader 1\nsallyport_gate_reached NaN\n", [], 1),
    ],
    ids=["healthy", "a policy differs", "no gate is reached", "nobody leads", "not compared"],
)
def test_what_control_compares_is_told(text: str, problems: list[str], gaps: int) -> None:
    """Only by the one that leads: what it does not know is a gap, and never well."""
    found = AreaFindings("registrations")
    judge_comparison(seen(control=text), found)
    assert [each.what for each in found.problems] == problems
    assert len(found.gaps) == gaps
