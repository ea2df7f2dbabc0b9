"""The site's table is read strictly: each slip is refused with its field and its fix."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InvalidObjectError
from core.risk.model import Effect, OperationClass, Role, Standing
from identity.risk.table import MOST_BYTES, MOST_ROWS, read_rows, write_rows
from identity.risk.table_rows import SANDBOXED, RiskRow
from tests.harness.evidence import ROOT

GROUP = "00000000-0000-4000-8000-0000000000AB"


def _table(*rows: str) -> str:
    return "\n".join(["format: 1", "rows:", *(f"- {{{row}}}" for row in rows)])


def test_a_row_is_read_with_all_that_it_names() -> None:
    """Each key has its field; groups are compared without case."""
    row = f"""name: a, standings: [low], operations: [exec], namespaces: ["", x], groups: [{GROUP}],
      roles: [requester], effect: sandbox, message: m"""
    assert read_rows(_table(row), "t") == (
        RiskRow(
            name="a",
            effect=Effect.SANDBOX,
            standings=frozenset({Standing.LOW}),
            operations=frozenset({OperationClass.EXEC}),
            namespaces=frozenset({"", "x"}),
            roles=frozenset({Role.REQUESTER}),
            groups=frozenset({GROUP.lower()}),
            message="m",
        ),
    )


def test_what_is_left_out_is_any() -> None:
    """A row of a name and an effect matches everything; one of groups whoever asks."""
    rows = read_rows(
        _table(f"name: b, effect: deny, groups: [{GROUP}]", "name: a, effect: allow"), "t"
    )
    groups, everything = rows
    assert everything == RiskRow(name="a", effect=Effect.ALLOW)
    assert groups.roles == {Role.REQUESTER}
    assert groups.standings == set(Standing)


def test_a_row_below_one_of_some_namespaces_or_groups_is_reached() -> None:
    """What a row above matches only for some leaves the rest to the rows below it."""
    rows = ("name: a, effect: deny, namespaces: [x]", f"name: b, effect: deny, groups: [{GROUP}]")
    table = _table(*rows, "name: c, effect: warn, roles: [requester], standings: [low]")
    assert [row.name for row in read_rows(table, "t")] == ["a", "b", "c"]


def test_no_rows_are_a_table() -> None:
    """A site may begin with an empty one."""
    assert read_rows("format: 1\nrows: []", "t") == ()


def test_the_documented_table_is_sound() -> None:
    """The example of docs/operate/risk-table.md is accepted as it stands."""
    page = (ROOT / "docs/operate/risk-table.md").read_text()
    rows = read_rows(page.partition("```yaml\n")[2].partition("```")[0], "t")
    assert [row.effect.value for row in rows] == ["deny", "warn", "deny"]


GOOD = "name: a, effect: deny"
LONG = "x" * 300


@pytest.mark.parametrize(
    ("text", "field", "fix"),
    [
        ("", "", "one YAML document with the keys format and rows"),
        ("[]", "", "one YAML document with the keys format and rows"),
        ("format: 1\nrows: []\n---\nformat: 1", "", "one YAML document"),
        ("format: 1\nrows: [", "line 3", ""),
        ("format: 1\nformat: 1", "line 2", "duplicate key 'format'"),
        ("rows: []", "format", "must be 1"),
        ("format: 2\nrows: []", "format", "must be 1"),
        ("format: yes\nrows: []", "format", "must be 1"),
        ("format: 1", "rows", "write the rows below it"),
        ("format: 1\nrows: {}", "rows", "must be a list"),
        ("format: 1\nrow: []", "row", "did you mean rows?"),
        ("format: 1\nrows: [deny]", "rows[0]", "a map with the keys name, standings"),
        (_table("effect: deny"), "rows[0].name", "up to 63 letters"),
        (_table("name: 1, effect: deny"), "rows[0].name", "must be text"),
        (_table(f"name: {LONG}, effect: deny"), "rows[0].name", "up to 63"),
        (_table("name: shipped/x, effect: deny"), "rows[0].name", "choose another"),
        (_table("name: namespace/x, effect: deny"), "rows[0].name", "choose another"),
        (_table("name: a"), "rows[0].effect", "one of allow, warn, sandbox, deny"),
        (_table("name: a, effect: Denny"), "rows[0].effect", "did you mean deny?"),
        (_table(f"{GOOD}, standing: [low]"), "rows[0].standing", "did you mean standings?"),
        (_table(f"{GOOD}, standings: low"), "rows[0].standings", "leave it out for any"),
        (_table(f"{GOOD}, standings: []"), "rows[0].standings", "leave it out for any"),
        (_table(f"{GOOD}, standings: [low, 1]"), "rows[0].standings[1]", "put it in quotes"),
        (_table(f"{GOOD}, standings: [mediun]"), "rows[0].standings[0]", "did you mean medium?"),
        (_table(f"{GOOD}, standings: [zzz]"), "rows[0].standings[0]", "write one of clean, low"),
        (_table(f"{GOOD}, operations: [execs]"), "rows[0].operations[0]", "did you mean exec?"),
        (_table(f"{GOOD}, roles: [asker]"), "rows[0].roles[0]", "write one of requester"),
        (_table(f"{GOOD}, namespaces: [no]"), "rows[0].namespaces[0]", "put it in quotes"),
        (_table(f"{GOOD}, namespaces: ['a b']"), "rows[0].namespaces[0]", "what a label may hold"),
        (_table(f"{GOOD}, groups: [admins]"), "rows[0].groups[0]", "object id of a group"),
        (
            _table(f"{GOOD}, groups: [{GROUP}], roles: [author]"),
            "rows[0].roles",
            "write roles: [requester]",
        ),
        (_table(f"{GOOD}, message: {LONG}"), "rows[0].message", "up to 200"),
        (_table(f'{GOOD}, message: "a\\nb"'), "rows[0].message", "one line"),
        # What may be somebody's address is not quoted: errors are logged.
        (_table(f"{GOOD}, roles: [a@b.c]"), "rows[0].roles[0]", "this is not known: write one"),
        (_table(f"{GOOD}, a@b.c: 1"), "rows[0].?", "this is not known: write one of name"),
        (_table("name: a, effect: sandbox"), "rows[0].operations", "create-workload and exec only"),
        (
            _table("name: a, effect: sandbox, operations: [exec, ask]"),
            "rows[0].operations",
            "choose another effect",
        ),
        (_table(f"{GOOD}, roles: [author]", GOOD), "rows[1].name", "another row's name"),
        (_table(GOOD, "name: b, effect: warn"), "rows[1]", "a, above it, matches all of it"),
        (
            _table(f"{GOOD}, namespaces: [a, b]", "name: b, effect: warn, namespaces: [b]"),
            "rows[1]",
            "Move it up, or take it out",
        ),
        (
            _table(
                f"{GOOD}, roles: [author]",
                "name: b, effect: deny, roles: [requester, workload]",
                "name: c, effect: warn, standings: [low]",
            ),
            "rows[2]",
            "the rows above it match all of it",
        ),
        ("#" + "x" * MOST_BYTES, "", f"shorten it to {MOST_BYTES}"),
        (_table(*([GOOD] * (MOST_ROWS + 1))), "rows", f"leave {MOST_ROWS}"),
        (_table(f"{GOOD}, namespaces: {['x'] * 257}"), "rows[0].namespaces", "to 256"),
    ],
)  # fmt: skip
def test_a_slip_is_refused_with_field_and_fix(text: str, field: str, fix: str) -> None:
    """The error names the field from the document's root, and what to write in its place."""
    with pytest.raises(InvalidObjectError) as raised:
        read_rows(text, "table.yaml")
    assert raised.value.field == field
    assert fix in raised.value.problem
    assert str(raised.value).startswith("table.yaml: ")
    assert len(str(raised.value)) < 500
    assert "a@b.c" not in str(raised.value)


def test_aliases_do_not_make_a_table_larger_than_it_may_be() -> None:
    """What is written out counts: the head of the snapshot has to hold it."""
    words = ", ".join(f"w{'x' * 50}{number}" for number in range(250))
    rows = [f"{{name: r0, effect: deny, standings: [low], namespaces: &n [{words}]}}"]
    pairs = [(each.value, other.value) for each in Standing for other in OperationClass]
    rows += [
        f"{{name: r{at}, effect: deny, standings: [{one}], operations: [{other}], namespaces: *n}}"
        for at, (one, other) in enumerate(pairs, 1)
        if one != "low"
    ]
    text = "format: 1\nrows:\n" + "\n".join(f"- {row}" for row in rows)
    assert len(text) < MOST_BYTES
    with pytest.raises(InvalidObjectError, match="shorten it"):
        read_rows(text, "t")


words = st.text("abcXYZ019", min_size=1, max_size=8)
site_rows = st.builds(
    lambda name, effect, standings, operations, places, message: RiskRow(
        name=name,
        effect=effect,
        standings=standings,
        operations=operations & SANDBOXED if effect is Effect.SANDBOX else operations,
        namespaces=places,
        message=message,
    ),
    words,
    st.sampled_from(Effect),
    st.frozensets(st.sampled_from(Standing), min_size=1),
    st.frozensets(st.sampled_from(OperationClass), min_size=1).map(
        lambda some: some | {OperationClass.EXEC}
    ),
    st.none() | st.frozensets(words | st.just(""), min_size=1, max_size=3),
    st.text(max_size=20).filter(str.isprintable),
)


@given(row=site_rows)
def test_what_is_written_is_read_again(row: RiskRow) -> None:
    """`control` stores rows without their comments; gates read the same rows."""
    assert read_rows(write_rows([row]), "t") == (row,)


def _read(text: str) -> tuple[RiskRow, ...] | str:
    """Return the rows, or what is wrong."""
    try:
        return read_rows(text, "t")
    except InvalidObjectError as error:
        return error.problem


@given(rows=st.lists(site_rows, max_size=4, unique_by=lambda row: row.name))
def test_what_is_sound_reaches_each_row(rows: list[RiskRow]) -> None:
    """A table that is accepted has no row that another one covers, and is stored as it is read."""
    covered = any(above.covers(row) for at, row in enumerate(rows) for above in rows[:at])
    found = _read(write_rows(rows))
    if isinstance(found, str):
        assert "never reached" in found
    else:
        assert (found, covered) == (tuple(rows), False)


@given(text=st.text(max_size=200))
def test_any_text_is_a_table_or_refused(text: str) -> None:
    """Whatever is in the ConfigMap: rows, or an error that says what is wrong; never a crash."""
    found = _read(text)
    assert found if isinstance(found, str) else write_rows(found)
