"""Logs come without the documents that a process writes among its lines, whole or cut off."""

import json
from typing import Final

import pytest

from cli.support_bundle.log_lines import LEFT_OUT, redacted_log
from cli.support_bundle.redaction import Redactor
from core.decision.decision import Action, Finding, Verdict
from core.decision.document import AccessAnswer, Asked, DecisionDocument, encode_document
from core.people.subject import pseudonymous_user

AT: Final = "2026-11-29T02:00:00.123456789Z "
CANARY: Final = "c4nary"
DECISION: Final = encode_document(
    DecisionDocument(
        format=1,
        id="019ac9d0-0000-7000-8000-000000000001",
        time="2026-11-29T02:00:00.000Z",
        cluster="c1",
        source="validate",
        request=Asked(uid="u", operation="CREATE", kind="Pod", version="v1", name=CANARY),
        requester=CANARY,
        verdict=Verdict.DENY,
        allowed=False,
        requester_kind="human",
        subjects=[CANARY],
        reason=CANARY,
        findings=[Finding("pods/root", Action.DENY, f"spec.{CANARY}", CANARY, CANARY)],
        access_reviews=[AccessAnswer(CANARY, CANARY, CANARY, allowed=False)],
    )
).decode()
ACCESS: Final = json.dumps(
    {
        "format": 1,
        "id": "a-1",
        "time": "2026-11-29T02:00:00.000Z",
        "cluster": "c1",
        "account": CANARY,
        "container": CANARY,
        "operation": "GetBlob",
        "act": "read",
        "signedBy": CANARY,
    }
)
AGGREGATE: Final = json.dumps(
    {"format": 1, "id": "g-1", "cluster": "c1", "verdict": "deny", "rules": ["pods/root"]}
    | {"requester": CANARY, "namespace": CANARY, "count": 3, "why": "budget"}
)


@pytest.mark.parametrize("before", ["", AT])
def test_of_a_document_id_verdict_and_rules_are_kept(before: str) -> None:
    """As `record.lines` writes it, with names of people."""
    lines = ["first", *(before + each for each in (DECISION, ACCESS, AGGREGATE)), "last"]
    made = redacted_log(Redactor(), "\n".join(lines))
    assert CANARY not in made
    first, decision, access, aggregate, last = made.split("\n")
    assert (first, last) == ("first", "last")
    assert json.loads(decision.removeprefix(before)) == {
        "document": "all but these fields left out",
        "id": "019ac9d0-0000-7000-8000-000000000001",
        "verdict": "deny",
        "rules": ["pods/root"],
    }
    assert json.loads(access.removeprefix(before))["id"] == "a-1"
    assert json.loads(aggregate.removeprefix(before))["rules"] == ["pods/root"]


@pytest.mark.parametrize("document", [DECISION, ACCESS, AGGREGATE])
def test_pieces_of_a_document_are_left_out(document: str) -> None:
    """The first line may begin within one, and the last may end in one."""
    for at in range(1, len(document) - 8):
        ends = redacted_log(Redactor(), f"{AT}{document[at:]}\n{AT}a line that stays")
        assert ends == f"{AT}{LEFT_OUT}\n{AT}a line that stays", document[at:]
    for at in range(12, len(document)):
        begins = redacted_log(Redactor(), f"a line that stays\n{AT}{document[:at]}")
        assert begins == f"a line that stays\n{AT}{LEFT_OUT}", document[:at]


def test_lines_of_json_lose_secrets_and_names() -> None:
    """By their keys, however the value is quoted; keys in PEM over several lines go whole."""
    said = {"event": "refused", "requester": 'o"zoe', "token": f'a"{CANARY}', "count": 3}
    pem = f"-----BEGIN PRIVATE KEY-----\n{CANARY}\n-----END PRIVATE KEY-----"
    made = redacted_log(Redactor(), f"{AT}{json.dumps(said)}\n{pem}\na line that stays")
    line, *rest = made.split("\n")
    assert json.loads(line.removeprefix(AT)) == {
        "event": "refused",
        "requester": pseudonymous_user('o"zoe'),
        "token": "[removed]",
        "count": 3,
    }
    assert rest == ["[removed]", "a line that stays"]
