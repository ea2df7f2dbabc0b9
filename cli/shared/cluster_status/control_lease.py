"""Who leads among the replicas of control, by the Lease."""

import datetime as dt

from cli.shared.cluster_status.model import AreaFindings, LeaderStatus, alert
from cli.shared.cluster_status.questions import StatusQuestions
from cli.shared.leader import parse_leader, troubles_of_leader
from core.base.process_names import CONTROL


async def read_control_lease(
    questions: StatusQuestions, namespace: str, found: AreaFindings, now: dt.datetime
) -> LeaderStatus | None:
    """Read the Lease; None where there is none.

    Raises:
        ClusterError: kube-apiserver does not answer in time, or refuses.
    """
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{CONTROL}"
    body = await questions.get(path)
    leader = None if body is None else parse_leader(body)
    for each in troubles_of_leader(leader, now):
        found.problem(
            f"nobody leads: {each.where} {each.what}", each.remedy, alert("SallyportNoLeader")
        )
    if leader is None or body is None:
        return None
    spec = body.get("spec") or {}
    if not found.problems:
        found.says.append(f"{leader.holder} leads since {spec.get('acquireTime', '')}")
    return LeaderStatus(
        holder=leader.holder if not found.problems else "",
        since=str(spec.get("acquireTime") or "") if not found.problems else "",
        renewed=str(spec.get("renewTime") or ""),
    )
