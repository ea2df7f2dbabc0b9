"""How many of each process run, since when, and what each lacks."""

import asyncio
import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

from cli.shared.cluster_status.model import AreaFindings, PodStatus, ProcessStatus, alert
from cli.shared.cluster_status.process_metrics import ProcessMetrics
from cli.shared.cluster_status.questions import StatusQuestions
from core.base.errors import ClusterError

PROCESSES: Final[tuple[Literal["gate", "control", "auditor"], ...]] = ("gate", "control", "auditor")
SELECTOR: Final = "app.kubernetes.io/name=sallyport"
_COMPONENT: Final = "app.kubernetes.io/component"
_CHART: Final = "helm.sh/chart"
_STATUS_PORT: Final = "status"
_RESTARTED_S: Final = 3600.0
"""A restart within the last hour is told."""


@dataclass(frozen=True)
class ProcessesSeen:
    """The processes, and the metrics of each Pod that could be asked."""

    processes: Mapping[str, ProcessStatus]
    metrics: Mapping[str, Mapping[str, ProcessMetrics]] = field(default_factory=dict)
    """By process and Pod."""

    def of(self, process: str) -> Mapping[str, ProcessMetrics]:
        """Return the metrics of the Pods of a process."""
        return self.metrics.get(process, {})


async def read_processes(
    questions: StatusQuestions, namespace: str, found: AreaFindings, now: dt.datetime
) -> ProcessesSeen:
    """Read workloads and Pods, and ask each Pod that runs.

    Raises:
        ClusterError: kube-apiserver does not answer in time, or refuses the lists.
    """
    apps = f"/apis/apps/v1/namespaces/{namespace}"
    deployments, sets, pods = await asyncio.gather(
        questions.list(f"{apps}/deployments", selector=SELECTOR),
        questions.list(f"{apps}/statefulsets", selector=SELECTOR),
        questions.list(f"/api/v1/namespaces/{namespace}/pods", selector=SELECTOR),
    )
    workloads = {_component(each): each for each in _objects([*deployments, *sets])}
    by_process: dict[str, list[dict[str, Any]]] = {}
    for pod in _objects(pods):
        by_process.setdefault(_component(pod), []).append(pod)
    asked = await asyncio.gather(
        *(
            _ask_pod(questions, namespace, pod, found)
            for name in PROCESSES
            for pod in by_process.get(name, [])
        )
    )
    seen = {pod: (missing, metrics) for pod, missing, metrics in asked}
    processes: dict[str, ProcessStatus] = {
        name: _process(name, workloads[name], by_process.get(name, []), seen)
        for name in PROCESSES
        if name in workloads
    }
    metrics = {
        name: {each.name: kept for each in one.pods if (kept := seen[each.name][1]) is not None}
        for name, one in processes.items()
    }
    for name in PROCESSES:
        _judge(name, processes.get(name), found, now)
    _judge_versions(processes, found)
    return ProcessesSeen(processes, metrics)


def _objects(raws: list[msgspec.Raw]) -> Iterator[dict[str, Any]]:
    for each in raws:
        yield msgspec.json.decode(each)


def _component(body: Mapping[str, Any]) -> str:
    return str((body["metadata"].get("labels") or {}).get(_COMPONENT, ""))


async def _ask_pod(
    questions: StatusQuestions, namespace: str, pod: Mapping[str, Any], found: AreaFindings
) -> tuple[str, str, ProcessMetrics | None]:
    """Return the Pod's name, what it lacks, and its metrics; None where it does not run."""
    name = str(pod["metadata"]["name"])
    port = status_port(pod)
    if not _runs(pod) or port is None:
        return name, "", None
    try:
        missing, metrics = await asyncio.gather(
            questions.readyz(namespace, name, port), questions.metrics(namespace, name, port)
        )
    except ClusterError as error:
        found.gap(f"Pod {name}: {error}")
        return name, "", None
    return name, missing, metrics


def _runs(pod: Mapping[str, Any]) -> bool:
    return (pod.get("status") or {}).get("phase") == "Running"


def status_port(pod: Mapping[str, Any]) -> int | None:
    """Return the port of a Pod that answers /readyz and /metrics; None where it has none."""
    for container in pod["spec"].get("containers", []):
        for port in container.get("ports") or []:
            if port.get("name") == _STATUS_PORT:
                return int(port["containerPort"])
    return None


def _process(
    name: Literal["gate", "control", "auditor"],
    workload: Mapping[str, Any],
    pods: list[dict[str, Any]],
    seen: Mapping[str, tuple[str, ProcessMetrics | None]],
) -> ProcessStatus:
    shown = [_pod(name, each, *seen[each["metadata"]["name"]]) for each in pods]
    containers = workload["spec"]["template"]["spec"]["containers"]
    return ProcessStatus(
        name=name,
        wanted=int(workload["spec"].get("replicas", 1)),
        ready=int((workload.get("status") or {}).get("readyReplicas") or 0),
        restarts=sum(each.restarts for each in shown),
        chart=str((workload["metadata"].get("labels") or {}).get(_CHART, "")),
        images=sorted({str(each.get("image", "")) for each in containers}),
        pods=sorted(shown, key=lambda each: each.name),
    )


def _pod(
    process: str, pod: Mapping[str, Any], missing: str, metrics: ProcessMetrics | None
) -> PodStatus:
    status = pod.get("status") or {}
    containers = status.get("containerStatuses") or []
    own: dict[str, Any] = next((each for each in containers if each.get("name") == process), {})
    running = (own.get("state") or {}).get("running") or {}
    builds = metrics.all("sallyport_build_info") if metrics else []
    return PodStatus(
        name=str(pod["metadata"]["name"]),
        ready=any(
            each.get("type") == "Ready" and each.get("status") == "True"
            for each in status.get("conditions") or []
        ),
        since=str(running.get("startedAt", "")),
        restarts=sum(int(each.get("restartCount", 0)) for each in containers),
        waiting=_waiting(pod, own),
        version=builds[0][0].get("version", "") if builds else "",
        missing=missing,
    )


def _waiting(pod: Mapping[str, Any], container: Mapping[str, Any]) -> str:
    state = container.get("state") or {}
    for kind in ("waiting", "terminated"):
        if kind in state:
            said = state[kind] or {}
            text = ": ".join(filter(None, (said.get("reason"), said.get("message"))))
            return str(text or kind)
    for each in (pod.get("status") or {}).get("conditions") or []:
        if each.get("type") == "PodScheduled" and each.get("status") == "False":
            return f"not scheduled: {each.get('message', '')}"
    if state:
        return ""
    last = (pod.get("status") or {}).get("reason")
    return str(last or "")


_NONE_READY: Final = {
    "gate": (
        "no gate is ready: kube-apiserver refuses what the registered webhooks guard",
        "kubectl get pods; each Pod's reason stands below. While people are locked out: "
        "docs/operate/disaster.md",
        alert("SallyportNoGateReady"),
    ),
    "control": (
        "no control is ready: certificates, egress rules and risk are not renewed",
        "kubectl logs deployment/sallyport-control",
        alert("SallyportNoLeader"),
    ),
    "auditor": (
        "the auditor is not ready: records wait in the spools",
        "kubectl logs sallyport-auditor-0",
        alert("SallyportNothingShipped"),
    ),
}

_ABSENT: Final = {
    "gate": ("there is no gate", "install the chart whole", "docs/operate/chart.md#install"),
    "control": ("there is no control", "install the chart whole", "docs/operate/chart.md#install"),
}


def _judge(name: str, seen: ProcessStatus | None, found: AreaFindings, now: dt.datetime) -> None:
    if seen is None:
        if name in _ABSENT:
            found.problem(*_ABSENT[name], critical=name == "gate")
        else:
            found.says.append(f"{name}: not installed (auditor.enabled)")
        return
    found.says.append(_line(seen))
    why = "; ".join(_reasons(seen))
    if seen.wanted == 0:
        what = f"{name} is scaled to 0: it does not run"
        first = f"helm upgrade with {name}.replicas, or kubectl scale --replicas=N"
        found.problem(what, first, _NONE_READY[name][2], critical=name == "gate")
    elif not seen.ready:
        what, first, see = _NONE_READY[name]
        found.problem(_with(what, why), first, see, critical=True)
    elif seen.ready < seen.wanted:
        what = f"{seen.ready} of {seen.wanted} replicas of {name} are ready"
        see = alert("SallyportOneGateLeft") if name == "gate" else _NONE_READY[name][2]
        found.problem(_with(what, why), "kubectl get pods; look at the nodes too", see)
    for pod in seen.pods:
        if pod.restarts and (ago := _seconds_since(pod.since, now)) < _RESTARTED_S:
            found.notes.append(
                f"Pod {pod.name} began again {ago / 60:.0f} minutes ago ({pod.restarts} restarts): "
                f"kubectl logs --previous {pod.name}"
            )


def _with(what: str, why: str) -> str:
    return f"{what} ({why})" if why else what


def _reasons(seen: ProcessStatus) -> Iterator[str]:
    if not seen.pods:
        yield "it has no Pod: kubectl describe its workload says why"
    for pod in seen.pods:
        if not pod.ready and (reason := pod.missing or pod.waiting):
            yield f"{pod.name}: {reason}"


def _line(seen: ProcessStatus) -> str:
    versions = sorted({each.version for each in seen.pods if each.version})
    begun = sorted(each.since for each in seen.pods if each.since)
    parts = [f"{seen.name} {seen.ready}/{seen.wanted} ready"]
    parts += [f"version {', '.join(versions)}"] if versions else []
    parts += [f"{seen.restarts} restarts"] if seen.restarts else []
    parts += [f"since {begun[-1]}"] if begun else []
    return ", ".join(parts)


def _seconds_since(text: str, now: dt.datetime) -> float:
    try:
        return (now - dt.datetime.fromisoformat(text)).total_seconds()
    except ValueError:
        return float("inf")


def _judge_versions(processes: Mapping[str, ProcessStatus], found: AreaFindings) -> None:
    charts = sorted({each.chart for each in processes.values() if each.chart})
    if charts:
        found.says.append(f"chart {', '.join(charts)}")
    versions = sorted({p.version for each in processes.values() for p in each.pods if p.version})
    if len(versions) > 1:
        found.notes.append(
            f"processes of versions {', '.join(versions)} run together: an upgrade is under way, "
            "or stopped half-way (docs/operate/failures.md#an-upgrade-stops-half-way)"
        )
