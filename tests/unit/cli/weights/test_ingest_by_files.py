"""`sallyport weights ingest --stores` judges old logs by objects from files, without a cluster."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml
from typer.testing import CliRunner

from app.records.state_folder import state_folder
from cli.main import app, main
from core.base.times import second_text
from core.weights.access_grants import parse_grant
from tests.harness.worlds.storage_logs import BEGIN_MS, encoded, storage_record

ALICE: Final = "0d000000-0000-4000-8000-00000000000a"
BOB: Final = "0d000000-0000-4000-8000-00000000000b"
CAROL: Final = "0d000000-0000-4000-8000-00000000000c"
BEGIN_S: Final = BEGIN_MS // 1000
"""2026-05-01T09:00:00Z."""
HOUR: Final = 3600
Json = dict[str, Any]


def at(seconds: int) -> str:
    """Return a time, so many seconds after the logs begin."""
    return f"{second_text(BEGIN_S + seconds)}Z"


def store_object(**spec: Any) -> Json:
    """Return a WeightStore as a cluster gives it."""
    held = {"account": "weightsprod", "containers": [{"name": "llama"}], "owner": "ml"}
    return {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": "WeightStore",
        "metadata": {"name": "prod", "uid": "uid-prod", "creationTimestamp": at(-100 * HOUR)},
        "spec": {**held, **spec},
    }


def grant_object(name: str, person: str, expires: int) -> Json:
    """Return an AccessGrant that was made a day before the logs begin."""
    author = "oid:0d000000-0000-4000-8000-0000000000aa user:00000000000000aa"
    return {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": "AccessGrant",
        "metadata": {
            "name": name,
            "namespace": "research",
            "uid": f"uid-{name}",
            "creationTimestamp": at(-24 * HOUR),
            "annotations": {"sallyport.dev/author": author},
        },
        "spec": {
            "store": "prod",
            "rights": ["read"],
            "reason": "evaluation",
            "expiresAt": at(expires),
            "people": [f"oid:{person}"],
        },
    }


def approvals(grant: Json, *given: int, who: str = "dan,erin") -> list[Json]:
    """Return Approvals of a grant as the webhook stored them, given at these seconds."""
    digest = parse_grant(msgspec.json.encode(grant)).approvable.digest
    return [
        {
            "apiVersion": "sallyport.dev/v1alpha1",
            "kind": "Approval",
            "metadata": {
                "name": f"{grant['metadata']['name']}-{person}",
                "namespace": "research",
                "uid": f"uid-{grant['metadata']['name']}-{person}",
                "creationTimestamp": at(seconds),
                "annotations": {
                    "sallyport.dev/approver-account": json.dumps({"user": person}),
                    "sallyport.dev/approved-uid": grant["metadata"]["uid"],
                    "sallyport.dev/approved-digest": digest,
                },
            },
            "spec": {
                "for": {"kind": "AccessGrant", "name": grant["metadata"]["name"]},
                "expiresAt": at(60 * 24 * HOUR),
            },
        }
        for person, seconds in zip(who.split(","), given, strict=True)
    ]


def read_by(person: str, seconds: int, **fields: Any) -> Json:
    """Return the record of a read by a person, as StorageBlobLogs have it."""
    made = storage_record(unix_ms=BEGIN_MS + seconds * 1000, address="203.0.113.7:4711", **fields)
    if "requester" in made["identity"]:
        made["identity"]["requester"]["objectId"] = person
        del made["identity"]["requester"]["appId"]
    return made


class Auditor:
    """An auditor's laptop: a home of its own, a folder of objects, a file of logs."""

    def __init__(self, folder: Path) -> None:
        self.stores = folder / "stores"
        self.stores.mkdir()
        self.log = folder / "PT1H.json"

    def keep(self, *objects: Json, file: str = "objects.yaml") -> None:
        """Write a file of objects."""
        (self.stores / file).write_text(yaml.safe_dump_all(objects))

    def ingest(self, *flags: str) -> tuple[int, Json]:
        """Run the command; give its exit code and its JSON."""
        given = ["weights", "ingest", "--stores", str(self.stores), "-o", "json", *flags]
        result = CliRunner().invoke(app, [*given, str(self.log)])
        return result.exit_code, json.loads(result.stdout)

    def table(self, *flags: str) -> str:
        """Run the command; give what people read."""
        given = ["weights", "ingest", "--stores", str(self.stores), *flags, str(self.log)]
        return CliRunner().invoke(app, given).stdout

    def list(self, what: str, *flags: str) -> list[Json]:
        """Return what `sallyport findings list` or `accesses list` shows."""
        span = ["--since", at(-HOUR), "--until", at(30 * 24 * HOUR)]
        given = [what, "list", *span, "--cluster-id", "files", "-o", "json", *flags]
        result = CliRunner().invoke(app, given)
        assert result.exit_code == 0, result.output
        found: list[Json] = json.loads(result.stdout)[what]
        return found


@pytest.fixture
def auditor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Auditor:
    """Return an auditor's laptop with a WeightStore, a live grant and one that ends."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("SALLYPORT_LEDGER__KEEP_DAYS", "3650")
    made = Auditor(tmp_path)
    live = grant_object("alice", ALICE, 40 * 24 * HOUR)
    ended = grant_object("bob", BOB, HOUR)
    made.keep(store_object(), live, *approvals(live, -20 * HOUR, -19 * HOUR))
    both = [ended, *approvals(ended, -20 * HOUR, -19 * HOUR)]
    listed = {"apiVersion": "v1", "kind": "List", "items": both}
    made.keep(listed, {"apiVersion": "v1", "kind": "ConfigMap"}, file="more.yaml")
    made.log.write_bytes(
        encoded(
            read_by(ALICE, 60),
            read_by(BOB, 120),
            read_by(BOB, 2 * HOUR),
            read_by(ALICE, 3 * HOUR, signed_by="SAS", query="sv=2024-11-04&sr=b&sig=XXX"),
            read_by(ALICE, 4 * HOUR, account="elsewhere"),
        )
    )
    return made


def test_a_live_grant_covers_and_an_ended_one_does_not(auditor: Auditor) -> None:
    """Each access is judged by the grants of its time, in the ledger of the state folder."""
    code, said = auditor.ingest()
    assert code == 0
    assert (said["cluster"], said["stored"]) == ("files", 5)
    assert (state_folder() / "ledger.db").exists()
    objects = said["objects"]
    assert objects["stores"] == ["prod"]
    assert objects["skipped"] == {"ConfigMap": 1}
    assert objects["podsRecorded"] is False
    assert said["next"] == "sallyport report --period 2026-05 --cluster-id files"
    alice, bob, late, sas, _ = sorted(auditor.list("accesses"), key=lambda each: each["time"])
    assert alice["grant"] == "research/alice@uid-alice"
    assert bob["grant"] == "research/bob@uid-bob"
    assert late["ungranted"] == "AccessGrant research/bob had expired at 2026-05-01T10:00:00Z"
    assert "SAS" in sas["ungranted"]
    assert "nothing is recorded of Pods" in late["attribution"]["why"]
    assert said["ungranted"] == 2


def test_no_record_of_pods_raises_no_grave_finding_of_missing_pods(auditor: Auditor) -> None:
    """Nobody can say that no Pod lived, where nobody watched: such a finding is low and says so."""
    auditor.ingest()
    found = {each["detection"]: each for each in auditor.list("findings")}
    assert {name: each["severity"] for name, each in found.items()} == {
        "key-or-anonymous-read": "critical",
        "ungranted": "medium",
        "no-live-pod": "low",
    }
    assert found["no-live-pod"]["title"].endswith("but no Pod of it is known")


def test_a_grant_to_service_accounts_is_said_to_be_unjudged(auditor: Auditor) -> None:
    """Nobody knows whether a Pod of them read: that is said, and not that somebody else did."""
    grant = grant_object("alice", ALICE, 10 * 24 * HOUR)
    grant["spec"]["serviceAccounts"] = ["trainer"]
    auditor.keep(store_object(), grant, *approvals(grant, -20 * HOUR, -19 * HOUR))
    (auditor.stores / "more.yaml").unlink()
    auditor.log.write_bytes(encoded(read_by(CAROL, 60)))
    auditor.ingest()
    (access,) = auditor.list("accesses")
    assert "whether that was a Pod of trainer nobody knows" in access["ungranted"]


def test_twice_the_same_changes_nothing(auditor: Auditor) -> None:
    """The second time all is known: no object, access or finding is there twice."""
    auditor.ingest()
    before = auditor.list("findings"), auditor.list("accesses")
    code, said = auditor.ingest()
    assert (code, said["stored"], said["objects"]["recorded"]) == (0, 0, 0)
    assert said["findings"] == {}
    assert (auditor.list("findings"), auditor.list("accesses")) == before


def test_the_report_shows_the_grants(auditor: Auditor, tmp_path: Path) -> None:
    """A report of the logs' month reads the same ledger, and has the grants and their approvers."""
    _, said = auditor.ingest()
    given = [*said["next"].split()[1:], "--format", "json", "--to", str(tmp_path)]
    assert CliRunner().invoke(app, given).exit_code == 0
    (made,) = [path for path in tmp_path.glob("*.json") if path != auditor.log]
    grants = {each["id"]: each for each in json.loads(made.read_text())["grants"]}
    alice = grants["research/alice@uid-alice"]
    assert (alice["state"], alice["accesses"], len(alice["approvers"])) == ("live", 1, 2)
    assert grants["research/bob@uid-bob"]["state"] == "ended"


def one_approval(grant: Json) -> list[Json]:
    """Return one Approval."""
    return approvals(grant, -20 * HOUR, who="dan")


def of_the_same_person(grant: Json) -> list[Json]:
    """Return two Approvals of one person."""
    first, second = approvals(grant, -20 * HOUR, -19 * HOUR, who="dan,Dan")
    return [first, second]


def of_what_it_was(grant: Json) -> list[Json]:
    """Return Approvals of the grant before it was widened."""
    narrow = {**grant, "spec": {**grant["spec"], "prefixes": ["a/"], "container": "llama"}}
    return approvals(narrow, -20 * HOUR, -19 * HOUR)


@pytest.mark.parametrize("given", [one_approval, of_the_same_person, of_what_it_was])
def test_a_grant_without_two_approvals_grants_nothing(
    auditor: Auditor, given: Callable[[Json], list[Json]]
) -> None:
    """It is recorded all the same, and the command says of each why it grants nothing."""
    grant = grant_object("alice", ALICE, 10 * 24 * HOUR)
    auditor.keep(store_object(), grant, *given(grant))
    _, said = auditor.ingest()
    (alice,) = [each for each in said["objects"]["grants"] if each["name"] == "research/alice"]
    assert alice["approvedSince"] == ""
    assert "people have approved it as it is" in alice["why"]
    assert said["ungranted"] == 3
    assert "AccessGrant research/alice of prod grants nothing" in auditor.table()


def test_approvals_count_from_the_second_and_until_they_expire(auditor: Auditor) -> None:
    """Accesses before and after are of no grant."""
    grant = grant_object("alice", ALICE, 10 * 24 * HOUR)
    first, second = approvals(grant, -20 * HOUR, 2 * HOUR)
    second["spec"]["expiresAt"] = at(4 * HOUR)
    auditor.keep(store_object(), grant, first, second)
    auditor.log.write_bytes(encoded(*(read_by(ALICE, hour * HOUR) for hour in (1, 3, 5))))
    auditor.ingest()
    accesses = sorted(auditor.list("accesses"), key=lambda each: each["time"])
    assert ["grant" in each for each in accesses] == [False, True, False]


def test_objects_without_a_creation_time(auditor: Auditor) -> None:
    """A WeightStore was always there; a grant grants nothing, since nobody knows since when."""
    store, grant = store_object(), grant_object("alice", ALICE, 10 * 24 * HOUR)
    for each in (store, grant):
        del each["metadata"]["creationTimestamp"]
    auditor.keep(store, grant, *approvals(grant, -20 * HOUR, -19 * HOUR))
    _, said = auditor.ingest()
    assert said["objects"]["undated"] == ["AccessGrant research/alice", "WeightStore prod"]
    (alice,) = [each for each in said["objects"]["grants"] if each["name"] == "research/alice"]
    assert "creationTimestamp" in alice["why"]
    assert (said["stored"], said["ungranted"]) == (5, 3)


def test_objects_that_change_later(auditor: Auditor) -> None:
    """What is in the ledger keeps what was said of it, and the command says what judges it anew."""
    auditor.ingest()
    other = store_object(account="elsewhere")
    other["metadata"] |= {"name": "other", "uid": "uid-other"}
    auditor.keep(other, file="other.yaml")
    shown = auditor.table()
    assert "new in the ledger: 1 change" in shown
    assert "name another --cluster-id to judge all of them by these objects" in shown
    auditor.keep(store_object(owner="safety"))
    assert auditor.ingest()[1]["objects"]["recorded"] == 1
    assert auditor.ingest()[1]["objects"]["recorded"] == 0
    _, said = auditor.ingest("--cluster-id", "anew")
    assert sum(said["confidence"].values()) == 5


WRONG: Final[Mapping[str, tuple[Callable[[Json], Any], str]]] = {
    "account": (lambda it: it["spec"].update(account="No!"), "WeightStore prod: spec.account"),
    "field": (lambda it: it["spec"].update(acount="x"), "WeightStore prod: spec"),
    "name": (lambda it: it["metadata"].pop("name"), "metadata.name: is missing"),
    "time": (
        lambda it: it["metadata"].update(creationTimestamp="yesterday"),
        "metadata.creationTimestamp",
    ),
}


@pytest.mark.parametrize("word", WRONG)
def test_a_fault_names_file_object_and_field_and_nothing_is_taken_in(
    auditor: Auditor, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One wrong object among right ones ends it before there is a ledger."""
    spoil, told = WRONG[word]
    store = store_object()
    spoil(store)
    auditor.keep(store, file="wrong.yaml")
    with pytest.raises(SystemExit) as ended:
        main(["weights", "ingest", "--stores", str(auditor.stores), str(auditor.log)])
    assert ended.value.code == 2
    message = capsys.readouterr().err
    assert "wrong.yaml#1" in message
    assert told in message
    assert not state_folder().exists()


def test_the_same_object_twice(auditor: Auditor, capsys: pytest.CaptureFixture[str]) -> None:
    """Word for word it is one; where both differ nobody knows which is right."""
    auditor.keep(store_object(), file="copy.yaml")
    assert auditor.ingest()[1]["objects"]["stores"] == ["prod"]
    auditor.keep(store_object(owner="other"), file="copy.yaml")
    with pytest.raises(SystemExit):
        main(["weights", "ingest", "--stores", str(auditor.stores), str(auditor.log)])
    assert "is in" in capsys.readouterr().err


def test_a_folder_without_stores_and_grants(
    tmp_path: Path, auditor: Auditor, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is refused, with what to write into it."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit) as ended:
        main(["weights", "ingest", "--stores", str(tmp_path / "empty"), str(auditor.log)])
    assert ended.value.code == 64
    assert "kubectl get weightstores,accessgrants,approvals" in capsys.readouterr().err


def test_what_people_read(auditor: Auditor) -> None:
    """The cluster id, each grant, that no record of Pods is there, and what to run next."""
    shown = auditor.table("--cluster-id", "old")
    assert "kept under the cluster id old" in shown
    assert "AccessGrant research/bob of prod: approved by two from 2026-04-30T14:00:00Z" in shown
    assert "no record of Pods is there" in shown
    assert "of another kind, not read: 1 ConfigMap" in shown
    assert "next: sallyport report --period 2026-05 --cluster-id old" in shown
