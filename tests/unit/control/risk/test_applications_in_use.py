"""Which applications Entra is asked about."""

from control.risk.applications import MOST, ApplicationsInUse, NotingJudge
from core.base.errors import NotSyncedError
from core.decision.decision import Decision, Evidence, Verdict, record_risk
from core.decision.request import Kind, Operation, Request
from core.people.subject import Subject
from core.risk.model import Application, ApplicationKind, AssessedIdentity, Effect, Role, Standing
from core.risk.snapshot import RiskSnapshot, SnapshotDraft


def guid(number: int) -> str:
    """Some GUID."""
    return f"cccccccc-0000-4000-8000-{number:012x}"


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        """Return it."""
        return self.at


def known(*client_ids: str) -> RiskSnapshot:
    """A snapshot that knows these."""
    draft = SnapshotDraft.of(RiskSnapshot())
    for each in client_ids:
        draft.put_application(each, Application(ApplicationKind.APPLICATION, guid(99)))
    return draft.finish(1.0)


def decision(*whos: str, role: Role = Role.WORKLOAD) -> Decision:
    """A decision that says that these count."""
    risk = tuple(
        record_risk(
            AssessedIdentity(
                role=role, who=who, standing=Standing.UNIDENTIFIED, effect=Effect.ALLOW, row="a row"
            )
        )
        for who in whos
    )
    return Decision(id="1", verdict=Verdict.ALLOW, allowed=True, evidence=Evidence(risk=risk))


def in_use(
    clock: Clock, *, accounts: tuple[str, ...] = (), snapshot: RiskSnapshot | None = None
) -> ApplicationsInUse:
    """What is asked about."""
    return ApplicationsInUse(lambda: accounts, lambda: snapshot, now=clock)


def test_accounts_and_pipelines_name_some() -> None:
    """In lower case, and only what is an id: a placeholder is nothing to ask Graph for."""
    accounts = (guid(1).upper(), "$(CLIENT_ID)", "")
    pipelines = ("ci@example.com", "system:serviceaccount:ci:ci", guid(2).upper())
    found = ApplicationsInUse(lambda: accounts, lambda: None, pipelines)
    assert found() == {guid(1), guid(2)}


def test_what_was_known_stays_until_the_accounts_are() -> None:
    """Else what is known of those that they name would be dropped."""

    def fail() -> tuple[str, ...]:
        raise NotSyncedError("not yet")

    assert ApplicationsInUse(fail, lambda: known(guid(3)))() == {guid(3)}


def test_what_is_seen_in_pods_counts_for_a_while() -> None:
    """Overridden client ids are seen only there; those that nobody uses are forgotten."""
    clock = Clock()
    found = in_use(clock)
    found.note(decision(f"client:{guid(3)}", "client:unidentified"))
    found.note(decision(f"oid:{guid(4)}", role=Role.AUTHOR))
    assert found() == {guid(3)}
    clock.at += found.keep_s - 1
    assert found() == {guid(3)}
    clock.at += 2
    assert found() == set()


def test_a_new_leader_goes_on_with_what_was_known() -> None:
    """Until its own sweep has seen them: else what is known of them would be dropped."""
    clock = Clock()
    found = in_use(clock, snapshot=known(guid(5)))
    assert found() == {guid(5)}
    clock.at += found.keep_s + 1
    assert found() == set()


def test_an_empty_snapshot_is_waited_for() -> None:
    """One that is not loaded yet says nothing of what was known."""
    clock = Clock()
    snapshots = [RiskSnapshot(), known(guid(6))]
    found = ApplicationsInUse(tuple, lambda: snapshots[0], now=clock)
    assert found() == set()
    del snapshots[0]
    assert found() == {guid(6)}


def test_whoever_names_many_is_not_followed_beyond_a_bound() -> None:
    """Each costs a part of a request to Graph; those that are known already stay."""
    clock = Clock()
    found = in_use(clock)
    for number in range(MOST + 10):
        found.note(decision(f"client:{guid(number)}"))
    assert len(found()) == MOST
    assert guid(0) in found()


async def test_the_sweeps_judge_is_listened_to() -> None:
    """And decides as before."""

    class Judge:
        def missing(self) -> list[str]:
            return ["something"]

        async def validate(self, _: Request, *, budget: float) -> Decision:
            assert budget == 2.0
            return decision(f"client:{guid(7)}")

    noted: list[Decision] = []
    judge = NotingJudge(Judge(), noted.append)
    assert judge.missing() == ["something"]
    pod = Kind("Pod", "v1")
    request = Request(uid="", kind=pod, operation=Operation.CREATE, subject=Subject("a"))
    assert [await judge.validate(request, budget=2.0)] == noted
