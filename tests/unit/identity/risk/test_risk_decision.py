"""What risk comes to: the strictest row of the worst identity, whatever else is known."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.risk.model import (
    AssessedIdentity,
    Effect,
    OperationClass,
    RiskLevel,
    RiskSource,
    RiskState,
    Role,
    Standing,
)
from core.risk.snapshot import Coverage, RiskSnapshot
from identity.risk.decision import NO_NAMESPACE_RISK, ROW_OF_NAMESPACE, NamespaceRisk, decide
from identity.risk.principals import Principal
from identity.risk.standings import Freshness
from identity.risk.table import SHIPPED, RiskTable, parse_table
from tests.unit.identity.risk.identities import (
    CLIENT,
    FRESHNESS,
    NOW,
    OTHER,
    PERSON,
    PRINCIPAL,
    REGISTERED,
    TENANT,
    author,
    entry,
    head,
    outside,
    person,
    principals,
    snapshot,
    snapshots,
    workload,
)

OPERATIONS = st.sampled_from(OperationClass)
PLACES = st.builds(
    NamespaceRisk, st.sampled_from(["", "weights"]), st.none() | st.sampled_from(list(Effect))
)
TABLES = st.sampled_from(
    [
        SHIPPED,
        parse_table(
            f"""
format: 1
rows:
- {{name: a, standings: [stale, unidentified], namespaces: [weights], effect: allow}}
- {{name: b, operations: [exec], groups: [{PRINCIPAL}], effect: deny}}
- {{name: c, standings: [foreign-tenant], effect: deny}}
""",
            "t",
        ),
    ]
)
OLD = head(Coverage(as_of=1.0), Coverage(as_of=1.0))


def _decide(
    asked: Sequence[Principal],
    operation: OperationClass,
    found: RiskSnapshot,
    place: NamespaceRisk = NO_NAMESPACE_RISK,
    table: RiskTable = SHIPPED,
) -> tuple[AssessedIdentity, ...]:
    return decide(asked, operation, place, found, table, FRESHNESS, NOW)


def _severity(assessed: Sequence[AssessedIdentity]) -> int:
    return max((each.effect.severity for each in assessed), default=-1)


def test_without_identities_nothing_is_decided() -> None:
    """The cluster's own identities ask for objects of nobody: no row is looked up."""
    assert _decide([], OperationClass.EXEC, snapshot()) == ()


def test_what_it_says_is_what_it_rests_on() -> None:
    """Role, label, standing, effect, row, events, age and since: all that the record keeps."""
    said = entry(RiskLevel.HIGH, RiskState.AT_RISK, event_id="e", event_type="leaked", since=7)
    (found,) = _decide(
        [person()], OperationClass.EXEC, snapshot({(RiskSource.ENTRA, PERSON): said})
    )
    assert found == AssessedIdentity(
        role=Role.REQUESTER,
        who=f"oid:{PERSON}",
        standing=Standing.HIGH,
        effect=Effect.DENY,
        row="shipped/high",
        events=("e",),
        event_types=("leaked",),
        age_s=10.0,
        since=7,
    )


def test_the_worse_of_human_and_workload_decides() -> None:
    """Who asks is clean, the author low, the workload high: the workload's row comes first."""
    said = {
        (RiskSource.ENTRA, OTHER): entry(RiskLevel.LOW, RiskState.AT_RISK),
        (RiskSource.ENTRA, PRINCIPAL): entry(RiskLevel.HIGH, RiskState.AT_RISK),
    }
    asked = [person(), author(f"oid:{OTHER}"), workload()]
    found = _decide(asked, OperationClass.CREATE_WORKLOAD, snapshot(said, REGISTERED))
    assert [(each.role, each.effect) for each in found] == [
        (Role.WORKLOAD, Effect.DENY),
        (Role.AUTHOR, Effect.WARN),
        (Role.REQUESTER, Effect.ALLOW),
    ]


def test_each_standing_that_holds_is_told() -> None:
    """At risk and stale: whoever relaxes the one still sees the other."""
    found = snapshot(
        {(RiskSource.ENTRA, PERSON): entry(RiskLevel.MEDIUM, RiskState.AT_RISK)}, of=OLD
    )
    place = NamespaceRisk(when_stale=Effect.DENY)
    decided = _decide([person()], OperationClass.CREATE_WORKLOAD, found, place)
    assert [(each.standing, each.effect, each.row) for each in decided] == [
        (Standing.STALE, Effect.DENY, ROW_OF_NAMESPACE),
        (Standing.MEDIUM, Effect.SANDBOX, "shipped/medium-workloads"),
    ]


@pytest.mark.parametrize("chosen", Effect)
def test_a_namespace_chooses_for_what_runs_while_data_is_stale(chosen: Effect) -> None:
    """Its word decides for workloads and who enters them; for anything else the table does."""
    place, found = NamespaceRisk(when_stale=chosen), snapshot(of=OLD)
    for operation in OperationClass:
        (with_choice,) = _decide([person()], operation, found, place)
        (without,) = _decide([person()], operation, found)
        if operation in {OperationClass.CREATE_WORKLOAD, OperationClass.EXEC}:
            assert (with_choice.effect, with_choice.row) == (chosen, ROW_OF_NAMESPACE)
        else:
            assert with_choice == without


def test_a_client_id_that_comes_twice_is_told_once() -> None:
    """A Pod names the installation's tenant where its service account names none."""
    asked = [workload(), workload(CLIENT, TENANT)]
    assert len(_decide(asked, OperationClass.EXEC, snapshot(applications=REGISTERED))) == 1


@given(
    asked=st.lists(principals, max_size=4),
    operation=OPERATIONS,
    place=PLACES,
    found=snapshots,
    table=TABLES,
)
def test_every_case_has_an_answer_and_the_same_one_again(
    asked: list[Principal],
    operation: OperationClass,
    place: NamespaceRisk,
    found: RiskSnapshot,
    table: RiskTable,
) -> None:
    """Each identity is told, by a row of the table or the namespace's choice; strictest first."""
    decided = _decide(asked, operation, found, place, table)
    assert decided == _decide(asked, operation, found, place, table)
    assert {(each.role, each.who) for each in decided} == {(p.role, p.who) for p in asked}
    severities = [each.effect.severity for each in decided]
    assert severities == sorted(severities, reverse=True)
    names = {row.name for row in table.rows} - {"shipped/otherwise"} | {ROW_OF_NAMESPACE}
    assert {each.row for each in decided} <= names


@given(
    asked=st.lists(principals, max_size=3),
    more=principals,
    operation=OPERATIONS,
    place=PLACES,
    found=snapshots,
    table=TABLES,
)
def test_an_identity_more_never_makes_it_milder(  # noqa: PLR0913, PLR0917 -- all that counts
    asked: list[Principal],
    more: Principal,
    operation: OperationClass,
    place: NamespaceRisk,
    found: RiskSnapshot,
    table: RiskTable,
) -> None:
    """The worst decides: nobody is excused by whom they bring along."""
    before = _decide(asked, operation, found, place, table)
    after = _decide([*asked, more], operation, found, place, table)
    assert _severity(after) >= _severity(before)
    assert set(map(_key, before)) <= set(map(_key, after))


@given(who=principals, operation=OPERATIONS, found=snapshots, table=TABLES)
def test_what_is_stale_is_never_milder_than_the_same_fresh_but_for_clean(
    who: Principal, operation: OperationClass, found: RiskSnapshot, table: RiskTable
) -> None:
    """Each effect that held for a risk still holds when the data has grown old."""
    aged = Freshness(max_age_s=-1.0, revoked_s=FRESHNESS.revoked_s, tenant=TENANT)
    fresh = _decide([who], operation, found, table=table)
    stale = decide([who], operation, NO_NAMESPACE_RISK, found, table, aged, NOW)
    risks = {_key(each) for each in fresh if each.standing is not Standing.CLEAN}
    assert risks <= set(map(_key, stale))


@given(operation=OPERATIONS, place=PLACES, found=snapshots)
def test_outside_entra_nothing_changes(
    operation: OperationClass, place: NamespaceRisk, found: RiskSnapshot
) -> None:
    """The local admin's way in does not depend on what is known of anybody."""
    (decided,) = _decide([outside()], operation, found, place)
    assert (decided.effect, decided.row) == (Effect.ALLOW, "shipped/outside")


def _key(assessed: AssessedIdentity) -> tuple[Role, str, Standing, str]:
    return assessed.role, assessed.who, assessed.standing, assessed.row
