"""`sallyport verify`: what kube-apiserver answers, told in a person's words."""

from typing import Final

import pytest

from cli import exits
from cli.flags import read_flags
from cli.verify.answers import StepOutcome, judged_workload, refused_marks, refused_pod
from cli.verify.port import gate_needs_certificate, judge_port, needs_certificate
from cli.verify.proof import NOT_DEMANDED, note_proof
from cli.verify.run import FORMAT, ClusterVerification, exit_code
from cli.verify.run import verify as run_verify
from core.base import names
from core.base.errors import ClusterError
from core.decision.namespaces import Mode
from egress.analysis.verification import ProbeFinding
from kube.client.connection import Connection
from tests.unit.cli.conftest import HANGS, Json, Run, Serve
from webhooks.client_certs import STRANGER

DENIED = 'admission webhook "validate.sallyport.dev" denied the request: privileged'
BACK_STOP = "ValidatingAdmissionPolicy 'backstop.sallyport.dev' with binding 'b' denied request: x"
NOTED = {"metadata": {"annotations": {names.REQUESTER_ANNOTATION: "oid:1"}}}
NO_RIGHT = 'pods is forbidden: User "a" cannot create resource "pods"'


def failed(why: str) -> dict[str, str]:
    """Return kube-apiserver's words for a webhook that it did not reach."""
    return {"message": f'failed calling webhook "validate.sallyport.dev": {why}'}


@pytest.mark.parametrize(
    ("why", "says"),
    [
        ("tls: x509: certificate signed by unknown authority", "does not trust"),
        ('no endpoints available for service "sallyport-gate"', "no gate is ready"),
        ("dial tcp 10.0.0.1:443: connect: connection refused", "no gate listens"),
        ("context deadline exceeded", "networkPolicies.webhooksFrom"),
        ('service "sallyport-gate" not found', "install the chart whole"),
        ("http2: server sent GOAWAY", "log may say more"),
        # Where the tunnel of a managed control plane ends elsewhere than webhooksFrom says.
        ('Post "https://g:443/validate?timeout=10s": EOF', "networkPolicies.webhooksFrom"),
        ("unexpected EOF", "networkPolicies.webhooksFrom"),
        ("proxy error from 127.0.0.1:8090: code 504: 504 Gateway Timeout", "webhooksFrom"),
        ("No agent available", "networkPolicies.webhooksFrom"),
        ("dial tcp 10.0.0.1:9443: i/o timeout", "networkPolicies.webhooksFrom"),
        ("dial tcp 10.0.0.1:9443: connect: no route to host", "networkPolicies.webhooksFrom"),
        (
            "net/http: request canceled (Client.Timeout exceeded while awaiting headers)",
            "networkPolicies.webhooksFrom",
        ),
        ("net/http: TLS handshake timeout", "too slow"),
        (
            'Post "https://g:443/validate?timeout=10s": remote error: tls: certificate required',
            "gate.clientCaConfigMap",
        ),
        ("remote error: tls: bad certificate", "gate.clientCaConfigMap"),
        ("remote error: tls: unknown certificate authority", "gate.clientCaConfigMap"),
        (f'an error on the server ("{{\\"error\\":\\"{STRANGER}\\"}}")', "to gate.clientNames"),
        (
            'Post "https://g:443/validate?timeout=10s": http2: server sent GOAWAY',
            "log may say more",
        ),
    ],
)
def test_a_gate_that_is_not_reached_is_told_with_the_way_out(why: str, says: str) -> None:
    """It is broken, and never taken for a denial."""
    for step in (
        judged_workload(500, failed(why)),
        refused_pod(500, failed(why), Mode.ENFORCE),
        refused_marks(500, failed(why), may_exempt=False),
    ):
        assert step.standing is StepOutcome.BROKEN
        assert says in step.remedy


async def test_a_request_without_an_answer_is_neither_taken_nor_refused(serve: Serve) -> None:
    """kube-apiserver went away in the middle: the command says so, and nothing of the gate."""
    of_webhooks = "/apis/admissionregistration.k8s.io/v1"
    hook = {"name": "hook", "failurePolicy": "Fail", "clientConfig": {"caBundle": "Q0E="}}
    named: Json = {"webhooks": [hook]}
    answers = {
        "/api/v1/namespaces/default": (200, {"metadata": {"name": "default"}}),
        f"{of_webhooks}/validatingwebhookconfigurations/sallyport": (200, named),
        f"{of_webhooks}/mutatingwebhookconfigurations/sallyport": (200, named),
        "/apis/apps/v1/namespaces/default/deployments": (0, None),
    }
    settings = read_flags(None, kubeconfig=serve(answers))
    with pytest.raises(ClusterError) as raised:
        await run_verify(settings, "default", by_settings=True)
    assert not raised.value.status


async def test_a_kube_apiserver_that_hangs_is_told_in_time(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where etcd is down: each request alone would be waited for."""
    monkeypatch.setattr("cli.verify.run._DEADLINE_S", 0.2)
    settings = read_flags(None, kubeconfig=serve({"/api/v1/namespaces/default": (HANGS, None)}))
    with pytest.raises(ClusterError, match="did not answer"):
        await run_verify(settings, "default", by_settings=True)


async def test_what_was_found_before_the_deadline_is_told(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gate that hangs, for as long as its webhook may: not kube-apiserver's fault."""
    monkeypatch.setattr("cli.verify.run._DEADLINE_S", 0.5)
    of_webhooks = "/apis/admissionregistration.k8s.io/v1"
    hook = {"name": "hook", "failurePolicy": "Fail", "clientConfig": {"caBundle": "Q0E="}}
    named: Json = {"webhooks": [hook]}
    answers = {
        "/api/v1/namespaces/default": (200, {"metadata": {"name": "default"}}),
        f"{of_webhooks}/validatingwebhookconfigurations/sallyport": (200, named),
        f"{of_webhooks}/mutatingwebhookconfigurations/sallyport": (200, named),
        "/apis/apps/v1/namespaces/default/deployments": (HANGS, None),
    }
    settings = read_flags(None, kubeconfig=serve(answers))
    found = await run_verify(settings, "default", by_settings=True)
    assert [each.name for each in found.steps] == ["registered", "judged"]
    assert found.steps[1].standing is StepOutcome.UNKNOWN
    assert "above" in found.steps[1].remedy
    assert exit_code(found) == exits.NOT_JUDGED


@pytest.mark.parametrize("status", [400, 500, 503])
def test_an_error_of_the_gate_is_never_taken_for_a_denial(status: int) -> None:
    """kube-apiserver words both alike; then everything is refused, and that is broken."""
    message = 'admission webhook "validate.sallyport.dev" denied the request: could not be judged'
    for step in (
        judged_workload(status, {"message": message}),
        refused_pod(status, {"message": message}, Mode.ENFORCE),
        refused_marks(status, {"message": message}, may_exempt=False),
    ):
        assert step.standing is StepOutcome.BROKEN
        assert "the gate could not judge" in step.found
        assert "/readyz" in step.remedy


def test_a_workload_that_nobody_noted_was_not_judged() -> None:
    """An admission alone proves nothing; a note or a denial does."""
    assert judged_workload(0, NOTED).standing is StepOutcome.HOLDS
    assert judged_workload(403, {"message": DENIED}).standing is StepOutcome.HOLDS
    unnoted = judged_workload(0, {"metadata": {}})
    assert unnoted.standing is StepOutcome.BROKEN
    assert "excludedNamespaces" in unnoted.remedy


@pytest.mark.parametrize("mode", list(Mode))
def test_a_pod_that_nobody_may_run_is_refused_where_it_is_enforced(mode: Mode) -> None:
    """Where it is not, its admission is no fault."""
    admitted = refused_pod(0, {}, mode)
    enforced = mode is Mode.ENFORCE
    assert admitted.standing is (StepOutcome.BROKEN if enforced else StepOutcome.HOLDS)
    for message in (DENIED, BACK_STOP):
        assert refused_pod(403, {"message": message}, mode).standing is StepOutcome.HOLDS


@pytest.mark.parametrize("message", [NO_RIGHT, "violates PodSecurity", "quota exceeded"])
def test_what_others_refuse_proves_nothing(message: str) -> None:
    """Neither that it holds, nor that it is broken."""
    for step in (
        judged_workload(403, {"message": message}),
        refused_pod(403, {"message": message}, Mode.ENFORCE),
        refused_marks(403, {"message": message}, may_exempt=False),
    ):
        assert step.standing is StepOutcome.UNKNOWN
        assert step.remedy


def test_marks_may_be_changed_by_those_alone_who_may_exempt() -> None:
    """A dry run that is taken is a fault, unless the caller has the right."""
    assert (
        refused_marks(403, {"message": BACK_STOP}, may_exempt=False).standing is StepOutcome.HOLDS
    )
    assert refused_marks(0, {}, may_exempt=True).standing is StepOutcome.HOLDS
    assert refused_marks(0, {}, may_exempt=False).standing is StepOutcome.BROKEN


def test_exit_codes_say_the_worst() -> None:
    """Broken before unknown before all is well."""
    holds = judged_workload(0, NOTED)
    broken = refused_marks(0, {}, may_exempt=False)
    unknown = refused_marks(403, {"message": NO_RIGHT}, may_exempt=False)

    def code(*steps: object) -> int:
        return exit_code(ClusterVerification(FORMAT, "default", "enforce", list(steps), []))  # type: ignore[arg-type]

    assert code(holds) == exits.ADMITTED
    assert code(holds, unknown) == exits.NOT_JUDGED
    assert code(unknown, broken, holds) == exits.REFUSED


def test_a_folder_is_no_cluster_to_ask(run: Run, tmp_path: object) -> None:
    """Wrong use, with what to give instead."""
    done = run("verify", "--kubeconfig", f"{tmp_path}/none")
    assert done.code == exits.USAGE
    assert "none" in done.err


@pytest.mark.parametrize(
    ("gate", "apiserver", "certificate", "standing", "says"),
    [
        ("open", "open", False, StepOutcome.BROKEN, "can ask in kube-apiserver's place"),
        ("open", "timeout", False, StepOutcome.BROKEN, "can ask in kube-apiserver's place"),
        ("open", "open", True, StepOutcome.HOLDS, "without kube-apiserver's certificate"),
        ("open", "open", "403: no", StepOutcome.UNKNOWN, "is not known: 403: no"),
        ("timeout", "open", False, StepOutcome.HOLDS, "does not reach the gate (timeout)"),
        ("refused", "open", False, StepOutcome.UNKNOWN, "nothing is learnt"),
        ("unreachable", "open", False, StepOutcome.HOLDS, "does not reach the gate"),
        ("timeout", "timeout", False, StepOutcome.UNKNOWN, "nothing is learnt"),
        ("noname", "open", False, StepOutcome.UNKNOWN, "nothing is learnt"),
        ("error", "open", False, StepOutcome.UNKNOWN, "nothing is learnt"),
        ("closed", "open", False, StepOutcome.UNKNOWN, "nothing is learnt"),
        ("untried", "untried", False, StepOutcome.UNKNOWN, "nothing is learnt"),
    ],
)
def test_a_port_that_a_tenant_reaches_is_broken_and_silence_proves_nothing(
    gate: ProbeFinding,
    apiserver: ProbeFinding,
    *,
    certificate: bool | str,
    standing: StepOutcome,
    says: str,
) -> None:
    """A Pod that reaches nothing says nothing of the gate's policy."""
    step = judge_port("Pod a/b", gate, apiserver, needs_certificate=certificate)
    assert (step.name, step.standing) == ("port", standing)
    assert says in step.found
    assert bool(step.remedy) is (standing is not StepOutcome.HOLDS)


@pytest.mark.parametrize(
    ("config", "needed"),
    [
        ("listen: {client_ca: /ca.crt, client_names: [kube-apiserver]}", True),
        ("listen: {client_ca: /ca.crt}", False),
        ("listen: {client_ca: /ca.crt, client_names: []}", False),
        ("listen: {client_names: [kube-apiserver]}", False),
        ("listen: null", False),
        ("{}", False),
        ("", False),
        ("[]", None),
        ("listen: [a]", None),
        ("{", None),
    ],
)
def test_a_ca_alone_is_not_taken_for_kube_apiservers_certificate(
    config: str, *, needed: bool | None
) -> None:
    """It may vouch for every user of the cluster: the gate takes nobody for kube-apiserver then."""
    assert needs_certificate(config) is needed


def test_a_refused_connection_says_what_may_have_refused_it() -> None:
    """Engines reject or drop; the Pod that was named connects, so no other is asked for."""
    step = judge_port("Pod a/b", "refused", "open", needs_certificate=False)
    assert "network policy refuses" in step.remedy
    assert "name a Pod" not in step.remedy


GATES: Final = "listen: {client_ca: /ca.crt, client_names: [kube-apiserver]}"


@pytest.mark.parametrize(
    ("status", "body", "standing", "says"),
    [
        (200, {"data": {"config.yaml": GATES}}, StepOutcome.HOLDS, "answers nobody without"),
        (200, {"data": {"config.yaml": "{}"}}, StepOutcome.BROKEN, "in kube-apiserver's place"),
        (403, {"message": "configmaps is forbidden"}, StepOutcome.UNKNOWN, "403"),
        (500, {"message": "etcd"}, StepOutcome.UNKNOWN, "500"),
        (404, {"message": "not found"}, StepOutcome.UNKNOWN, "there is none"),
        (200, {"data": {}}, StepOutcome.UNKNOWN, "has no config.yaml"),
        (200, {"data": 5}, StepOutcome.UNKNOWN, "data: Expected"),
        (200, {"data": {"config.yaml": "{"}}, StepOutcome.UNKNOWN, "holds no settings"),
    ],
)
async def test_settings_that_cannot_be_read_are_neither_broken_nor_all_right(
    serve: Serve, status: int, body: object, standing: StepOutcome, says: str
) -> None:
    """An open port is BROKEN only where the gate is known to answer everybody."""
    path = "/api/v1/namespaces/sallyport-system/configmaps/sallyport-gate"
    settings = read_flags(None, kubeconfig=serve({path: (status, body)}))
    connection = Connection(settings.kubeconfig)
    await connection.open()
    try:
        needed = await gate_needs_certificate(settings, connection)
    finally:
        await connection.close()
    step = judge_port("Pod a/b", "open", "open", needs_certificate=needed)
    assert step.standing is standing, step
    assert says in step.found
    assert bool(step.remedy) is (standing is not StepOutcome.HOLDS)


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (200, {"data": {"config.yaml": "receive: {instances: check}"}}, [NOT_DEMANDED]),
        (200, {"data": {"config.yaml": "receive: {instances: require}"}}, []),
        (200, {"data": {"config.yaml": "receive: {instances: off}"}}, []),
        (200, {"data": {"config.yaml": 'receive: {instances: "off"}'}}, []),
        (200, {"data": {"config.yaml": "{}"}}, []),
        (404, {"message": "not found"}, []),
        (403, {"message": "configmaps is forbidden"}, ["is not known: ConfigMap", "403"]),
        (500, {"message": "etcd"}, ["is not known", "500"]),
        (200, {"data": {"config.yaml": "["}}, ["is not known", "it holds no settings"]),
        (200, {"data": {"config.yaml": "receive: [a]"}}, ["is not known", "no settings"]),
        (200, {"data": {}}, ["is not known", "has no config.yaml"]),
    ],
)
async def test_an_auditor_that_demands_no_proof_is_noted_with_the_remedy(
    serve: Serve, status: int, body: object, says: list[str]
) -> None:
    """The note names the value; an auditor that demands it, or asks nobody, has none."""
    path = "/api/v1/namespaces/sallyport-system/configmaps/sallyport-auditor"
    settings = read_flags(None, kubeconfig=serve({path: (status, body)}))
    connection = Connection(settings.kubeconfig)
    await connection.open()
    try:
        notes = await note_proof(settings, connection)
    finally:
        await connection.close()
    assert len(notes) == bool(says)
    assert all(word in note for note in notes for word in says)
    assert "auditor.gateInstances=check" in NOT_DEMANDED
    assert "set it to require" in NOT_DEMANDED


@pytest.mark.parametrize("pod", ["a", "a/", "/b", "a/b/c", ""])
def test_a_pod_that_is_not_named_whole_is_wrong_usage(run: Run, pod: str) -> None:
    """The message names the flag and its form."""
    result = run("verify", "--from", pod)
    assert result.code == exits.USAGE
    assert "--from" in result.err
    assert "NAMESPACE/POD" in result.err
