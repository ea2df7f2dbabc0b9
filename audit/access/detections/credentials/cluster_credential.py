"""34: the administrator's credential of an AKS cluster listed, or a command run in one."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.model.detection import Detection, EventContext, ResponseStep
from audit.access.model.findings import make_finding
from audit.access.model.habits import DoneBefore, note_habit, week_of
from audit.access.model.sightings import is_news
from audit.access.parsers.activity_facts import actor_text, fact_text
from core.weights.documents.events import Activity, Finding, Severity, Topic

_PROFILES: Final = "/accessprofiles/"
_ADMIN: Final = "/accessprofiles/clusteradmin"
_RANK: Final = {each: number for number, each in enumerate(Severity, 1)}


class ClusterCredentialState(msgspec.Struct):
    """What this detection remembers."""

    habits: dict[str, DoneBefore] = {}
    """By cluster, who and what."""
    raised: dict[str, int] = {}


def _see(event: Activity, state: ClusterCredentialState, known: EventContext) -> Sequence[Finding]:
    kind = fact_text(event, "kind")
    if _PROFILES in event.resource and not event.resource.endswith(_ADMIN):
        return ()
    cluster = event.resource.partition(_PROFILES)[0]
    name = f"{cluster} {kind} {known.who}"
    severity, usual = Severity.LOW, ""
    if known.done:
        is_habit = note_habit(state.habits, name, known.day, event.address)
        if not is_habit:
            severity = Severity.HIGH
        usual = " It did so on earlier days too, from the same network." if is_habit else ""
    since = week_of(known.day) if usual else str(known.day)
    if not is_news(state.raised, f"{name} {since}", _RANK[severity]):
        return ()
    short = cluster.rsplit("/", 1)[-1]
    did, why = (
        (
            "a command was run through Azure",
            "It ran as administrator of the cluster, past the API server's network, and is not in "
            "its audit log under the caller's name.",
        )
        if kind == "command"
        else (
            "the administrator's credential was listed",
            "Whoever has it is `system:masters`, whom no RBAC and no name holds, until the "
            "cluster's certificates are rotated.",
        )
    )
    did = did if known.done else f"tried and failed: {did}"
    return [
        make_finding(
            DETECTION,
            event,
            known,
            (name, since, severity.value),
            severity,
            f"Cluster {short}: {did}",
            f"By {actor_text(event)}: {event.operation} at {cluster}. {why}{usual}",
        )
    ]


DETECTION: Final = Detection(
    id="cluster-credential",
    number=34,
    title="The administrator's credential of a cluster listed, or a command run in it",
    about="Somebody took the administrator's credential of an AKS cluster from Azure Resource "
    "Manager, or had a command run in it (`az aks command invoke`): both reach Pods, Secrets and "
    "tokens of what may read weights, with no name in the cluster. High, once for cluster, who and "
    "day; low, and once a week, where the same principal did so on an earlier day of the last 31 "
    "from the same network, as Terraform does at each plan; low where it failed. The credential of "
    "a user is quiet: with it one still signs in.",
    severity=Severity.HIGH,
    techniques=("T1552.007", "T1651", "T1609", "T1078.004"),
    needs=("Azure's Activity log of the clusters' subscriptions",),
    blind=(
        "what the command was: the Activity log does not keep it safely, and nor does this",
        "who uses a credential that was listed before the log",
        "credentials in Terraform's state",
    ),
    fires=(
        "`Microsoft.ContainerService/managedClusters/listClusterAdminCredential/action`: high",
        "`Microsoft.ContainerService/managedClusters/accessProfiles/listCredential/action` of "
        "`clusterAdmin`: high",
        "`Microsoft.ContainerService/managedClusters/runCommand/action`: high",
        "one of them by a principal from a network that is new to it: high",
    ),
    quiet=(
        "`…/listClusterUserCredential/action`, `…/listClusterMonitoringUserCredential/action`",
        "the second time on a day",
        "what `weights.expected` names: a pipeline's principal",
    ),
    remedy="Rotate the cluster's certificates, switch local accounts and command invoke off.",
    steps=(
        ResponseStep(
            10, "Block the principal, if nobody who may do so says that they did it, and why."
        ),
        ResponseStep(
            20,
            "Rotate what was listed: `az aks rotate-certs` (restarts nodes), then "
            "`az aks update --disable-local-accounts`; `--disable-run-command` for commands.",
        ),
        ResponseStep(
            30,
            "Look in the API server's audit log for `system:masters`, and in namespace "
            "`aks-command` for Pods, since then.",
        ),
        ResponseStep(
            60, "Look at accesses to weights by Pods and service accounts of the cluster since."
        ),
    ),
    recoverable="The cluster's trust, by rotating its certificates. What was read with the "
    "credential, Secrets and tokens among it, counts as disclosed: renew those too.",
    bound="4096 habits and as many findings",
    begin=ClusterCredentialState,
    see=_see,
    topics=frozenset({Topic.CLUSTER_CREDENTIAL}),
)
