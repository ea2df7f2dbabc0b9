"""Pods with labels of egress, and a cluster with namespaces that are enrolled or not."""

import copy
from typing import Any

from admission.gather import Gatherer
from admission.judge import Judge
from core.decision.decision import Decision
from core.decision.namespaces import Modes
from egress.limits.settings import IntentSettings
from identity.subjects import parse_controllers
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.world import ID, RESTRICTED, Folder, pod

Json = dict[str, Any]

ACCOUNT = "egress.sallyport.dev/service-account"
WORKLOAD = "egress.sallyport.dev/workload"
DUE = {ACCOUNT: "trainer", WORKLOAD: "none"}
PATHS = [f"metadata.labels[{key}]" for key in (ACCOUNT, WORKLOAD)]


def labelled(labels: dict[str, str] | None = None, made: Json | None = None) -> Json:
    """Return a Pod of the service account `trainer` with labels."""
    made = copy.deepcopy(made or pod(serviceAccountName="trainer"))
    if labels is not None:
        made["metadata"]["labels"] = labels
    return made


def held(folder: Folder) -> Watched:
    """Namespaces that are enrolled (`train`), and not (`web`); both closed, whatever is asked.

    `audited` is looked at, and closes a Job of its own.
    """
    for name, word in (("train", "deny"), ("web", "open"), ("lax", "deny"), ("plain", None)):
        folder.namespace(name, mode="warn" if name == "lax" else None)
        if word:
            folder.documents[-1]["metadata"]["labels"]["sallyport.dev/egress"] = word
    folder.namespace("audited", **{"egress-workloads": "Job/fetch"})
    folder.documents[-1]["metadata"]["labels"]["sallyport.dev/egress"] = "audit"
    owner = copy.deepcopy(RESTRICTED["spec"])
    folder.documents += [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "fetch", "namespace": namespace, "uid": "u"},
            "spec": {"template": {"spec": owner}},
        }
        for namespace in ("train", "audited")
    ]
    return Watched(folder.cluster(), closes=frozenset({"train", "web", "lax", "plain"}))


def judge(
    cluster: Watched, engine: EmbeddedEngine, settings: IntentSettings | None = None
) -> Judge:
    """Return a judge of an installation."""
    gatherer = Gatherer(
        cluster, engine, parse_controllers(()), intent_settings=settings or IntentSettings()
    )
    return Judge(gatherer, Modes(), lambda: ID)


def told(decision: Decision) -> list[tuple[str, str]]:
    """Return rule and path of each finding."""
    return [(each.rule, each.path) for each in decision.findings]
