"""Only who may `exempt` a namespace sets its mode, its ceiling, and AKS's exemptions.

The ValidatingAdmissionPolicy `deploy/namespace-guard.yaml` holds the same while the gate is
down, and on AKS, where the request that sets such a label is itself kept from webhooks.
"""

from admission.model.facts import Facts
from admission.model.outcome import NOTHING, Outcome
from core.decision.decision import Action, Finding
from core.decision.request import Request

RULE = "namespaces/exempt"


def namespace_marks(request: Request, facts: Facts) -> Outcome:
    """Refuse guarded marks to a requester without `exempt` on `namespaces.sallyport.dev`."""
    if facts.marks is None or facts.marks.exempt or not facts.marks.changed:
        return NOTHING
    findings = tuple(
        Finding(
            rule=RULE,
            action=Action.DENY,
            path=path,
            message="sets, changes or removes a mark that decides how the namespace is guarded",
            remedy="Leave it as it is, or ask someone who may exempt namespaces to set it.",
        )
        for path in facts.marks.changed
    )
    return Outcome(
        findings,
        "You may not change how this namespace is guarded.",
        (
            "An administrator can grant the verb exempt on namespaces.sallyport.dev "
            f"{request.name} (ClusterRole sallyport-exempt).",
        ),
    )
