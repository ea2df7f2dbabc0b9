"""`sallyport verify`: what kube-apiserver answers, told in a person's words."""

import pytest

from cli import exits
from cli.verify.answers import StepOutcome, judged_workload, refused_marks, refused_pod
from cli.verify.port import judge_port, needs_certificate
from cli.verify.run import FORMAT, ClusterVerification, exit_code
from core.base import names
from core.decision.namespaces import Mode
from egress.analysis.verification import ProbeFinding
from tests.unit.cli.conftest import Run

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
        ("unexpected EOF", "log may say more"),
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
    certificate: bool,
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
        ("[]", False),
        ("", False),
        ("{", False),
    ],
)
def test_a_ca_alone_is_not_taken_for_kube_apiservers_certificate(
    config: str, *, needed: bool
) -> None:
    """It may vouch for every user of the cluster: the gate takes nobody for kube-apiserver then."""
    assert needs_certificate(config) is needed


@pytest.mark.parametrize("pod", ["a", "a/", "/b", "a/b/c", ""])
def test_a_pod_that_is_not_named_whole_is_wrong_usage(run: Run, pod: str) -> None:
    """The message names the flag and its form."""
    result = run("verify", "--from", pod)
    assert result.code == exits.USAGE
    assert "--from" in result.err
    assert "NAMESPACE/POD" in result.err
