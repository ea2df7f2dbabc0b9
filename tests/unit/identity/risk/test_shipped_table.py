"""The shipped table has an answer for everything, and the site's rows come first."""

from itertools import product

import pytest

from core.risk.model import AT_RISK, Effect, OperationClass, Role, Standing
from identity.risk.table import SHIPPED, RiskTable, parse_table
from identity.risk.table_rows import SANDBOXED, RiskRow

OTHERWISE = "shipped/otherwise"
CELLS = tuple(product(Standing, OperationClass, Role))
GROUP = "00000000-0000-4000-8000-0000000000ab"
ALLOW, WARN, SANDBOX, DENY = Effect

OPERATIONS = tuple(OperationClass)
"""Create-workload, exec, make-credentials, change-rights, ask, approve, break-glass,
read-weights."""

_Effects = tuple[Effect, ...]
_EVERY: dict[Role, _Effects] = dict.fromkeys(Role, (ALLOW,) * 8)
_WARNED: _Effects = (WARN,) * 8
_REFUSED: _Effects = (DENY,) * 8
_NOT_VOUCHING: _Effects = (WARN, WARN, WARN, WARN, WARN, DENY, DENY, WARN)
_ALLOWED_NOT_VOUCHING: _Effects = (ALLOW, ALLOW, ALLOW, ALLOW, ALLOW, DENY, DENY, ALLOW)
_MEDIUM: _Effects = (SANDBOX, DENY, DENY, DENY, WARN, DENY, DENY, DENY)
_STALE: _Effects = (WARN, WARN, DENY, WARN, WARN, DENY, WARN, WARN)
_UNKNOWN: _Effects = (SANDBOX, DENY, DENY, DENY, WARN, DENY, WARN, DENY)

EXPECTED: dict[Standing, dict[Role, _Effects]] = {
    Standing.CLEAN: _EVERY,
    Standing.CONFIRMED_SAFE: _EVERY,
    Standing.REMEDIATED: _EVERY,
    Standing.DISMISSED: _EVERY,
    Standing.OUTSIDE: _EVERY,
    Standing.LOW: dict.fromkeys(Role, _NOT_VOUCHING),
    Standing.MEDIUM: {
        Role.REQUESTER: _MEDIUM,
        Role.AUTHOR: (SANDBOX, WARN, *_MEDIUM[2:]),
        Role.WORKLOAD: _MEDIUM,
    },
    Standing.HIGH: {
        Role.REQUESTER: _REFUSED,
        Role.AUTHOR: (SANDBOX, WARN, *_REFUSED[2:]),
        Role.WORKLOAD: _REFUSED,
    },
    Standing.COMPROMISED: dict.fromkeys(Role, _REFUSED),
    Standing.HIDDEN: _EVERY | {Role.REQUESTER: _WARNED},
    Standing.UNKNOWN: {
        Role.REQUESTER: _UNKNOWN,
        Role.AUTHOR: (SANDBOX, WARN, *_UNKNOWN[2:]),
        Role.WORKLOAD: _UNKNOWN,
    },
    Standing.DELETED: dict.fromkeys(Role, _WARNED) | {Role.REQUESTER: _REFUSED},
    Standing.REVOKED: dict.fromkeys(Role, _WARNED)
    | {Role.REQUESTER: (WARN, DENY, DENY, DENY, WARN, DENY, WARN, DENY)},
    Standing.MANAGED_IDENTITY: dict.fromkeys(Role, _ALLOWED_NOT_VOUCHING),
    Standing.GUEST: dict.fromkeys(Role, _ALLOWED_NOT_VOUCHING) | {Role.REQUESTER: _NOT_VOUCHING},
    Standing.FOREIGN: dict.fromkeys(Role, _NOT_VOUCHING),
    Standing.UNIDENTIFIED: dict.fromkeys(Role, _NOT_VOUCHING),
    Standing.STALE: dict.fromkeys(Role, _WARNED) | {Role.REQUESTER: _STALE},
}


@pytest.mark.parametrize(("standing", "operation", "role"), CELLS)
def test_each_standing_has_its_shipped_effect(
    standing: Standing, operation: OperationClass, role: Role
) -> None:
    """What an installation without rows of its own does, cell by cell."""
    row = SHIPPED.find(standing, operation, "", role)
    assert row.effect is EXPECTED[standing][role][OPERATIONS.index(operation)]
    assert row == SHIPPED.find(standing, operation, "weights", role, frozenset({GROUP}))


def test_each_standing_has_a_row_that_names_it() -> None:
    """No standing of this release falls through to the last row, and no row is there for none."""
    used = {SHIPPED.find(standing, operation, "", role).name for standing, operation, role in CELLS}
    assert used == {row.name for row in SHIPPED.rows} - {OTHERWISE}
    assert all(name.startswith("shipped/") for name in used)


def test_a_standing_that_has_no_row_is_refused() -> None:
    """Whatever a later release adds is denied until it has a row; so is everything of no table."""
    for table in (SHIPPED, RiskTable.of(())):
        only = [row for row in table.rows if row.name == OTHERWISE]
        found = RiskTable.of(only).find(Standing.CLEAN, OperationClass.ASK, "", Role.REQUESTER)
        assert (found.name, found.effect) == (OTHERWISE, Effect.DENY)


@pytest.mark.parametrize(
    "standing", [each for each in Standing if each in AT_RISK], ids=lambda each: each.value
)
def test_shipped_table_refuses_approvals_of_identities_at_risk(standing: Standing) -> None:
    """At any level: no approval, no breaking of glass."""
    for operation in (OperationClass.APPROVE, OperationClass.BREAK_GLASS):
        assert SHIPPED.find(standing, operation, "", Role.REQUESTER).effect is Effect.DENY


def test_breaking_glass_needs_no_fresh_data() -> None:
    """Stale, hidden, unknown, revoked, outside: it is the way out when Entra is down or wrong."""
    for standing in (
        Standing.STALE,
        Standing.HIDDEN,
        Standing.UNKNOWN,
        Standing.REVOKED,
        Standing.OUTSIDE,
    ):
        row = SHIPPED.find(standing, OperationClass.BREAK_GLASS, "", Role.REQUESTER)
        assert row.effect is not Effect.DENY


def test_nothing_is_sandboxed_that_does_not_run() -> None:
    """The effect means something only for what runs and for what enters it."""
    for row in SHIPPED.rows:
        assert row.effect is not Effect.SANDBOX or row.operations <= SANDBOXED


TABLE = f"""
format: 1
rows:
- name: team
  groups: [{GROUP}]
  namespaces: [weights]
  effect: deny
  message: Ask the weights team.
- name: weights
  standings: [clean, low]
  operations: [exec]
  namespaces: [weights, ""]
  effect: warn
"""


@pytest.mark.parametrize(
    ("standing", "namespace_class", "role", "groups", "expected"),
    [
        (Standing.CLEAN, "weights", Role.REQUESTER, {GROUP, "g"}, "team"),
        (Standing.CLEAN, "weights", Role.REQUESTER, {"g"}, "weights"),
        (Standing.CLEAN, "weights", Role.AUTHOR, {GROUP}, "weights"),
        (Standing.CLEAN, "", Role.WORKLOAD, set(), "weights"),
        (Standing.CLEAN, "open", Role.REQUESTER, {GROUP}, "shipped/clean"),
        (Standing.HIGH, "weights", Role.REQUESTER, {GROUP}, "team"),
        (Standing.HIGH, "weights", Role.REQUESTER, set(), "shipped/high"),
    ],
)
def test_the_first_row_that_matches_decides(
    standing: Standing, namespace_class: str, role: Role, groups: set[str], expected: str
) -> None:
    """The site's rows come first, in their order; those of groups are for who asks alone."""
    table = parse_table(TABLE, "t")
    found = table.find(standing, OperationClass.EXEC, namespace_class, role, frozenset(groups))
    assert found.name == expected


def test_the_digest_is_of_what_the_rows_say() -> None:
    """Comments and the order of words change nothing; order and content of rows do."""
    digest = parse_table(TABLE, "t").digest
    assert parse_table(f"# why\n{TABLE}".replace("clean, low", "low, clean"), "u").digest == digest
    others = {
        SHIPPED.digest,
        parse_table(TABLE.replace("effect: warn", "effect: deny"), "t").digest,
        parse_table(TABLE.replace("Ask", "ask"), "t").digest,
        RiskTable.of(reversed(parse_table(TABLE, "t").rows)).digest,
    }
    assert len(others | {digest}) == 5


def test_no_text_is_the_shipped_table() -> None:
    """A site without a table has nothing to read."""
    assert parse_table("", "t") is SHIPPED


def test_a_row_covers_what_it_matches_wholly() -> None:
    """Each part must; a row of groups never covers one of whoever."""
    plain = RiskRow(name="a", effect=Effect.DENY)
    of_groups = RiskRow(
        name="b", effect=Effect.DENY, groups=frozenset({GROUP}), namespaces=frozenset({"x"})
    )
    of_risk = RiskRow(name="c", effect=Effect.DENY, standings=AT_RISK)
    assert all(plain.covers(each) for each in (plain, of_groups, of_risk))
    assert not any(each.covers(plain) for each in (of_groups, of_risk))
    assert not of_risk.covers(of_groups)
