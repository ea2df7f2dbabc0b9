"""Who asks the auditor for a decision: kube-apiserver says who they are, and what they may read."""

import os
import subprocess
from collections.abc import Iterator
from typing import Final

import msgspec
import pytest

from core.decision.decision import Action, AssessedRisk, Finding, Verdict
from core.decision.document import DecisionDocument
from core.people.subject import Subject
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import connect
from tests.harness.programs.ports import free_ports
from tests.harness.programs.process import ServerProcess
from tests.harness.programs.recorded_gate import PROGRAM, START_S, Certificates
from tests.harness.programs.status import is_ready
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS, document
from tests.unit.cli.decisions.test_decisions import keep

REFUSED: Final = "01a1fdf9-4600-741a-844b-d5e85b7c5f0f"
ELSEWHERE: Final = "01a1fdf9-4600-741a-844b-d5e85b7c5f10"
BINDING: Final = "01a1fdf9-4600-741a-844b-d5e85b7c5f11"
RISKY: Final = "Your account is at risk (level high)"
EVENT: Final = "6a5874caabcd9d82"
HELD: Final = "rights/use/sentinel-secret"

_RBAC: Final = "rbac.authorization.k8s.io"


def refused(decision_id: str, finding: Finding, **changes: object) -> DecisionDocument:
    """Return a refusal of what Alice asked for."""
    made: DecisionDocument = document(NOW_MS, Verdict.DENY, id=decision_id)
    return msgspec.structs.replace(
        made, requester=Subject("alice").label, findings=[finding], needs=[], **changes
    )


def at_risk() -> DecisionDocument:
    """Return a refusal for her risk."""
    assessed = AssessedRisk(
        role="requester",
        who=Subject("alice").label,
        standing="high",
        effect="deny",
        row="high",
        events=[EVENT],
    )
    finding = Finding("identity/risk", Action.DENY, "", RISKY, f"event {EVENT}")
    return refused(REFUSED, finding, risk=[assessed], caller_known=True)


def of_a_role() -> DecisionDocument:
    """Return a refusal of a binding that anybody may have sent in her name."""
    finding = Finding("privileges/rights/use", Action.DENY, "roleRef", HELD, HELD, HELD)
    return refused(BINDING, finding)


@pytest.fixture(scope="module")
def environment(
    apiserver: ApiServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """An auditor with these decisions, and the settings by which people ask it."""
    folder = tmp_path_factory.mktemp("explained")
    of_another = msgspec.structs.replace(at_risk(), id=ELSEWHERE, cluster="another")
    certificates = Certificates(folder)
    receive, explain, status = free_ports(3)
    process = ServerProcess(
        "auditor",
        [PROGRAM, "auditor"],
        folder / "auditor.log",
        certificates.auditor(receive, keep(folder, [at_risk(), of_another, of_a_role()]))
        | {
            "SALLYPORT_CLUSTER_ID": CLUSTER,
            "SALLYPORT_KUBECONFIG": str(apiserver.kubeconfig()),
            "SALLYPORT_EXPLAIN__PORT": str(explain),
            "SALLYPORT_STATUS__PORT": str(status),
        },
    )
    try:
        process.wait_until(lambda: is_ready(status), START_S)
        yield {
            "SALLYPORT_EXPLAIN__URL": f"https://localhost:{explain}",
            "SALLYPORT_EXPLAIN__CA": str(certificates.ca),
        }
    finally:
        process.stop()


async def explained(
    server: ApiServer, environment: dict[str, str], user: str, decision_id: str
) -> tuple[int, str]:
    """Return the exit code and all that `sallyport explain ID -o json` writes for a user."""
    done = subprocess.run(  # noqa: ASYNC221  Nothing else goes on.
        [PROGRAM, "explain", decision_id, "-o", "json", "--kubeconfig", server.kubeconfig(user)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


async def let_review(server: ApiServer, user: str) -> None:
    """Let somebody read every decision."""
    rule = {"apiGroups": ["sallyport.dev"], "resources": ["decisions"], "verbs": ["review"]}
    name = "explanation-reviewers"
    role = {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name}}
    binding = {
        **role,
        "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": user}],
    }
    async with connect(server) as admin:
        await admin.apply([role | {"rules": [rule]}, binding])


async def test_the_requester_reads_the_decision_without_the_risk(
    apiserver: ApiServer, environment: dict[str, str]
) -> None:
    """A thief with her token learns that it is held back, and not what is known."""
    code, said = await explained(apiserver, environment, "alice", REFUSED)
    assert code == 1, said
    assert "identity/risk" in said
    assert "security team" in said
    for secret in (RISKY, EVENT, '"high"', "standing"):
        assert secret not in said, secret


async def test_decision_of_another_requester_is_answered_as_absent(
    apiserver: ApiServer, environment: dict[str, str]
) -> None:
    """A decision of another's is answered as one that is not there; so is one elsewhere."""
    others = await explained(apiserver, environment, "gate", REFUSED)
    missing = await explained(apiserver, environment, "gate", REFUSED[:-1] + "9")
    elsewhere = await explained(apiserver, environment, "alice", ELSEWHERE)
    assert others == missing == elsewhere
    assert others[0] == 2
    assert "404" in others[1]


async def test_a_reviewer_reads_all(apiserver: ApiServer, environment: dict[str, str]) -> None:
    """Who has the verb `review` on decisions reads what is known of the risk."""
    await let_review(apiserver, "bob")
    code, said = await explained(apiserver, environment, "bob", REFUSED)
    assert code == 1, said
    assert RISKY in said
    assert EVENT in said


async def test_a_review_by_a_stranger_opens_no_role(
    apiserver: ApiServer, environment: dict[str, str]
) -> None:
    """Anybody may have sent it in their own name, to read what a role holds."""
    code, said = await explained(apiserver, environment, "alice", BINDING)
    assert code == 1, said
    assert "profiles/elsewhere" in said
    assert "rights/use" not in said
    assert "sentinel-secret" not in said
