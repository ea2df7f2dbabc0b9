"""Whether kube-apiserver is well, and of a version that this release is tested with."""

from cli.shared.cluster_status.model import AreaFindings
from cli.shared.cluster_status.questions import StatusQuestions
from cli.shared.supported_kubernetes import is_supported, supported_minors
from core.base.errors import ClusterError


async def read_kubernetes(questions: StatusQuestions, found: AreaFindings) -> str:
    """Return the version of kube-apiserver.

    Raises:
        ClusterError: it does not answer in time.
    """
    answer = await questions.get("/version")
    if answer is None:
        raise ClusterError("GET /version: 404: the answer is none of an API")
    version = str(answer.get("gitVersion", ""))
    found.says.append(f"Kubernetes {version}")
    if not is_supported(version):
        known = supported_minors()
        found.problem(
            f"Kubernetes {version} is none of those that this release knows, {known[0]} to "
            f"{known[-1]}",
            "sallyport preflight says which fields are not known",
            "docs/operate/upgrade.md#before-kubernetes-is-upgraded",
        )
    await _judge_readiness(questions, found)
    return version


async def _judge_readiness(questions: StatusQuestions, found: AreaFindings) -> None:
    """Ask whether kube-apiserver is ready, etcd among the rest."""
    try:
        await questions.text("/readyz")
    except ClusterError as error:
        if not error.status:
            found.gap(f"whether kube-apiserver is ready: {error}")
            return
        found.problem(
            f"kube-apiserver says that it is not ready ({error.status})",
            "kubectl get --raw '/readyz?verbose': its etcd, or what else fails there",
            "docs/operate/failures.md",
            critical=True,
        )
