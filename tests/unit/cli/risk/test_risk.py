"""`sallyport risk`: what it says of a snapshot, of one identity, and of a table."""

import json
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from app.settings.identity import IdentitySection
from cli.output import make_console
from cli.risk.show import Shown, ShowRequest, make_shown, principal_named, print_shown
from cli.risk.snapshot import freshness_of
from cli.risk.status import Status, exit_code, make_status, print_status
from cli.risk.table import TableSelection, make_matrix, print_matrix
from core.base.errors import SettingsError
from core.cluster import AccountSignIn
from core.risk.model import (
    Application,
    ApplicationKind,
    Behaviour,
    BehaviourEntry,
    Effect,
    OperationClass,
    PrincipalKind,
    RiskEntry,
    RiskLevel,
    RiskSource,
    RiskState,
    Role,
    Standing,
    identity_key,
)
from core.risk.snapshot import Coverage, RiskSnapshot, SnapshotDraft
from identity.risk.table import SHIPPED, parse_table
from tests.unit.cli.conftest import Run

NOW = 1_790_000_000.0
TENANT = "11111111-2222-3333-4444-555555555555"
ALICE = "aaaaaaaa-0000-4000-8000-000000000001"
ROBOT = "bbbbbbbb-0000-4000-8000-000000000001"
CLIENT = "cccccccc-0000-4000-8000-000000000001"
EVENT = "event-of-alice"
SECTION = IdentitySection(enabled=True, tenant=TENANT)

TABLE = """\
format: 1
rows:
  - name: secret-work
    standings: [low]
    operations: [exec]
    namespaces: [secret]
    effect: deny
"""


def snapshot(age_s: float = 20.0, table: str = "") -> RiskSnapshot:
    """A snapshot in which Alice is at medium risk, and a client id's application at high."""
    draft = SnapshotDraft.of(RiskSnapshot())
    kept_up = Coverage(as_of=NOW - age_s, full=NOW - 1000)
    draft.head = msgspec.structs.replace(
        draft.head,
        tenant=TENANT,
        users=kept_up,
        service_principals=kept_up,
        user_events=Coverage(problem="403: IdentityRiskEvent.Read.All is missing"),
        service_principal_events=kept_up,
        applications=kept_up,
        table=table,
    )
    draft.put(RiskSource.ENTRA, identity_key(ALICE), at_risk(RiskLevel.MEDIUM, EVENT))
    draft.put(
        RiskSource.ENTRA,
        identity_key(ROBOT),
        msgspec.structs.replace(
            at_risk(RiskLevel.HIGH, "event-of-robot"), kind=PrincipalKind.SERVICE_PRINCIPAL
        ),
    )
    for name in (CLIENT, ROBOT):  # Of pipelines the object id itself is asked for.
        draft.put_application(name, Application(ApplicationKind.APPLICATION, ROBOT))
    draft.put_behaviour(identity_key(ALICE), BehaviourEntry(Behaviour.EXEC_BURST, int(NOW) + 60))
    return draft.finish(NOW - 5)


def at_risk(level: RiskLevel, event: str) -> RiskEntry:
    """Whoever came to be at risk an hour ago."""
    since = int(NOW) - 3600
    return RiskEntry(
        level=level,
        state=RiskState.AT_RISK,
        updated=since,
        since=since,
        event_id=event,
        event_type="anonymizedIPAddress",
    )


def shown(subject: str, sign_in: AccountSignIn | None = None, namespace_class: str = "") -> Shown:
    """What `risk show` says."""
    found = snapshot(table=TABLE)
    principal = principal_named(subject, found, sign_in)
    table = parse_table(TABLE, "t")
    asked = ShowRequest(subject, namespace_class)
    return make_shown(principal, asked, found, table, freshness_of(SECTION, found), NOW)


def status(found: RiskSnapshot) -> Status:
    """What `risk status` says."""
    return make_status(found, SECTION, NOW)


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> Console:
    """Where tables go, as into a pipe."""
    monkeypatch.setenv("NO_COLOR", "1")
    return make_console()


def test_status_says_what_is_known_and_what_is_wrong(
    console: Console, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ages, the problem in the words of the one who met it, and counts of identities."""
    found = status(snapshot())
    assert (found.fresh, exit_code(found)) == (True, 0)
    problems = {each.sort: each.fix for each in found.knowledge if each.problem}
    assert problems == {"detections of users": "403: IdentityRiskEvent.Read.All is missing"}
    assert [(each.kind, each.level, each.count) for each in found.counts] == [
        ("service-principal", "high", 1),
        ("user", "medium", 1),
    ]
    print_status(found, console, NOW)
    text = capsys.readouterr().out
    assert "risk is fresh" in text
    assert "detections of users: 403: IdentityRiskEvent.Read.All is missing" in text
    assert "not asked for: identity.guests is off" in text


@pytest.mark.parametrize("age_s", [1801.0, -400.0])
def test_what_is_old_or_of_the_future_is_stale(age_s: float) -> None:
    """A script sees it by the exit code."""
    found = status(snapshot(age_s))
    assert (found.fresh, exit_code(found)) == (False, 1)
    assert {each.sort for each in found.knowledge if each.stale} >= {"users", "service principals"}


def test_no_licence_is_said_and_is_not_stale() -> None:
    """It will not change by waiting."""
    draft = SnapshotDraft.of(snapshot())
    draft.head = msgspec.structs.replace(draft.head, service_principals=Coverage(unlicensed=True))
    found = status(draft.finish(NOW))
    (without,) = (each for each in found.knowledge if each.unlicensed)
    assert without.sort == "service principals"
    assert "no licence" in without.fix
    assert found.fresh


@pytest.mark.parametrize("subject", [f"oid:{ALICE}", ALICE, ALICE.upper()])
def test_a_person_is_shown_by_object_id(
    subject: str, console: Console, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is known, what it rests on, and an answer for every operation."""
    found = shown(subject)
    assert (found.who, found.standings) == (f"oid:{ALICE}", [Standing.MEDIUM])
    assert found.behaviour == ["exec-burst"]
    assert [each.operation for each in found.answers] == list(OperationClass)
    effects = {each.operation: each.effect for each in found.answers}
    assert effects[OperationClass.APPROVE] is Effect.DENY
    print_shown(found, console, NOW)
    text = capsys.readouterr().out
    assert f"event anonymizedIPAddress {EVENT}" in text
    assert "shipped/" in text


def test_a_workload_is_shown_by_client_id_and_by_account() -> None:
    """Its risk is that of the service principal that the client id stands for."""
    by_client = shown(f"client:{CLIENT}")
    by_account = shown("train/trainer", AccountSignIn(CLIENT))
    assert by_client.role is Role.WORKLOAD
    assert (by_client.application, by_client.object_id) == ("application", ROBOT)
    assert by_client.standings == [Standing.HIGH]
    assert msgspec.structs.replace(by_account, subject="") == msgspec.structs.replace(
        by_client, subject=""
    )


def test_an_application_is_shown_by_its_own_object_id() -> None:
    """As a requester: applications ask kube-apiserver too."""
    found = shown(ROBOT)
    assert (found.role, found.standings) == (Role.REQUESTER, [Standing.HIGH])


def test_whoever_is_none_of_entras_is_outside() -> None:
    """A certificate's user has no risk that anybody tells."""
    assert shown("user:0123456789abcdef").standings == [Standing.OUTSIDE]


@pytest.mark.parametrize("subject", ["alice@example.com", "oid:alice", "client:x", "", "system:a"])
def test_what_names_no_identity_is_refused(subject: str) -> None:
    """The message has the forms that there are."""
    with pytest.raises(SettingsError, match="names no identity: give oid:OBJECT-ID"):
        principal_named(subject, snapshot(), None)


def test_a_namespaces_class_changes_the_answers() -> None:
    """A row of the site's for one class of namespaces decides there alone."""
    table, wanted = parse_table(TABLE, "t"), TableSelection(namespace_class="secret")
    here = make_matrix(table, "t", wanted)
    elsewhere = make_matrix(table, "t", TableSelection())
    changed = [
        (cell.standing, cell.operation, cell.effect)
        for cell, other in zip(here.cells, elsewhere.cells, strict=True)
        if cell != other
    ]
    assert changed == [(Standing.LOW, OperationClass.EXEC, Effect.DENY)]
    assert here.site_rows == ["secret-work"]


def test_the_matrix_has_every_case(console: Console, capsys: pytest.CaptureFixture[str]) -> None:
    """Each standing is a line, and the site's own rows are marked."""
    print_matrix(
        make_matrix(parse_table(TABLE, "t"), "t", TableSelection(namespace_class="secret")), console
    )
    lines = capsys.readouterr().out.splitlines()
    for standing in Standing:
        assert any(line.startswith(standing.value) for line in lines)
    assert sum("deny*" in line for line in lines) == 1
    assert "* a row of the site's: secret-work" in lines


def test_no_word_of_the_matrix_is_cut_off_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """80 columns hold all of the shipped table: the longest standing takes two lines."""
    narrow = Console(width=80, force_terminal=True, color_system=None, highlight=False)
    print_matrix(make_matrix(SHIPPED, "shipped", TableSelection()), narrow)
    grid = capsys.readouterr().out.split("\n\n")[1]
    assert "…" not in grid
    assert "confirmed-\n" in "\n".join(line.rstrip() for line in grid.splitlines())
    assert max(len(line.rstrip()) for line in grid.splitlines()) <= 80


def test_table_prints_the_shipped_one(run: Run) -> None:
    """Without a file and a cluster, for programs too."""
    done = run("risk", "table", "-o", "json")
    assert (done.code, done.err) == (0, "")
    said = json.loads(done.out)
    assert (said["source"], said["digest"]) == ("shipped", SHIPPED.digest)
    assert len(said["cells"]) == len(Standing) * len(OperationClass)


def test_table_refuses_a_broken_file_with_field_and_fix(run: Run, tmp_path: Path) -> None:
    """Exit code 1, so that a pipeline stops; the file and the wrong word are named."""
    file = tmp_path / "table.yaml"
    file.write_text(TABLE.replace("deny", "denied"))
    done = run("risk", "table", "--file", str(file))
    assert (done.code, done.out) == (1, "")
    assert str(file) in done.err
    assert "effect" in done.err


@pytest.mark.parametrize("command", [["status"], ["show", ALICE], ["show", "train/trainer"]])
def test_a_cluster_must_be_named(run: Run, command: list[str]) -> None:
    """Nothing here knows who is at risk."""
    done = run("risk", *command)
    assert (done.code, done.out) == (64, "")
    assert "give --kubeconfig FILE or --cluster DIR" in done.err


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        (["table", "--namespace-class", "a b"], "--namespace-class: give the value of a"),
        (["table", "--group", "vendors"], "--group: give the object id of a group"),
        (["show", ALICE, "--namespace-class", "ä"], "--namespace-class: give the value of a"),
    ],
)
def test_a_flag_that_matches_nothing_is_wrong_usage(run: Run, flags: list[str], word: str) -> None:
    """A slip of the pen would look like a table without effect."""
    done = run("risk", *flags)
    assert (done.code, done.out) == (64, "")
    assert word in done.err
