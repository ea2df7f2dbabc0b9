"""A Namespace's mode, ceiling and exemptions change only by who has the verb `exempt`.

The ValidatingAdmissionPolicy `deploy/namespace-guard.yaml` holds the same while the gate is down,
and on AKS, where the request that sets such a label is itself kept from webhooks.
"""

import msgspec

from admission.model.facts import Facts, NamespaceLabelFacts
from admission.model.outcome import NOTHING, Outcome
from core.base import names
from core.base.errors import InvalidObjectError, NamespaceMarkError
from core.cluster import Cluster
from core.decision.decision import Action, Finding
from core.decision.id_ranges import parse_id_ranges
from core.decision.namespaces import Namespace, guarded_settings
from core.decision.request import Request
from core.egress.enrolment import closed_workloads
from core.kubernetes.object_meta import ObjectMeta
from core.kubernetes.pod import decode_metadata

RULE = "namespaces/exempt"
IDS_RULE = "namespaces/ids"
WORKLOADS_RULE = "namespaces/egress-workloads"

_IDS = tuple(
    f"metadata.annotations[{each}]"
    for each in (names.UID_RANGE_ANNOTATION, names.SUPPLEMENTAL_GROUPS_ANNOTATION)
)
_WORKLOADS = f"metadata.annotations[{names.EGRESS_WORKLOADS_ANNOTATION}]"


def check_namespace_labels(request: Request, facts: Facts) -> Outcome:
    """Refuse guarded marks to a requester without `exempt` on `namespaces.sallyport.dev`.

    And to everybody IDs that cannot be read: Pods on shared file systems could not be judged; and a
    list of workloads that cannot be read: it would close the whole namespace.
    """
    if facts.namespace_labels is not None and facts.namespace_labels.broken:
        finding = _broken(facts.namespace_labels.broken)
        what = "IDs" if finding.rule == IDS_RULE else "list of workloads"
        return Outcome((finding,), f"Its {what} cannot be read.")
    if (
        facts.namespace_labels is None
        or facts.namespace_labels.exempt
        or not facts.namespace_labels.changed
    ):
        return NOTHING
    findings = tuple(
        Finding(
            rule=RULE,
            action=Action.DENY,
            path=path,
            message="sets, changes or removes a mark that decides how the namespace is guarded",
            remedy="Leave it as it is, or ask someone who may exempt namespaces to set it.",
        )
        for path in facts.namespace_labels.changed
    )
    return Outcome(
        findings,
        "You may not change how this namespace is guarded.",
        (
            "An administrator can grant the verb exempt on namespaces.sallyport.dev "
            f"{request.name} (ClusterRole sallyport-exempt).",
        ),
    )


def _broken(problem: str) -> Finding:
    path, _, rest = problem.partition(": ")
    said, _, remedy = rest.partition(". ")
    rule = WORKLOADS_RULE if path == _WORKLOADS else IDS_RULE
    return Finding(rule, Action.DENY, path, said, remedy)


async def add_namespace_facts(cluster: Cluster, request: Request, facts: Facts) -> Facts:
    """Return the facts with the marks that change, and whether the requester may change them.

    Raises:
        AccessReviewError: the cluster did not say.
        InvalidObjectError: the metadata has not the shape that Kubernetes gives it.
    """
    metadata = _metadata(request.object)
    new = _settings(metadata)
    old = _settings(_metadata(request.old_object)) if request.old_object is not None else {}
    paths = sorted(new.keys() | old.keys())
    changed = tuple(path for path in paths if new.get(path) != old.get(path))
    exempt = bool(changed) and await cluster.allowed(
        request.subject, names.EXEMPT_VERB, names.NAMESPACES_RESOURCE, request.name, ""
    )
    looks = not set(changed).isdisjoint((*_IDS, _WORKLOADS))
    broken = _why_broken(request.name, metadata) if looks else ""
    return msgspec.structs.replace(
        facts,
        namespace_labels=NamespaceLabelFacts(changed, exempt, broken),
        object_uid=metadata.uid or "",
    )


def _why_broken(name: str, metadata: ObjectMeta) -> str:
    annotations = metadata.annotations or {}
    try:
        parse_id_ranges(name, annotations)
        closed_workloads(Namespace(name, annotations=annotations))
    except NamespaceMarkError as error:
        return str(error).removeprefix(f"Namespace {name}: ")
    return ""


def _metadata(raw: msgspec.Raw | None) -> ObjectMeta:
    if raw is None:
        raise InvalidObjectError("Namespace", "object", "the review holds none")
    return decode_metadata(raw, "Namespace")


def _settings(metadata: ObjectMeta) -> dict[str, str]:
    return guarded_settings(metadata.labels or {}, metadata.annotations or {})
