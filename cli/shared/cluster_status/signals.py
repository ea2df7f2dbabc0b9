"""What processes say of egress and of identities' risk."""

import math
from typing import Final

from cli.shared.cluster_status.model import AreaFindings, alert
from cli.shared.cluster_status.process_metrics import largest
from cli.shared.cluster_status.processes import ProcessesSeen

_RISK_OLD_S: Final = 600.0
"""As the alert SallyportRiskOld counts."""


def read_egress(seen: ProcessesSeen, found: AreaFindings) -> None:
    """Say how many namespaces are enrolled, and what fails, by the control that leads."""
    control = seen.of("control")
    enrolled = largest(control, "sallyport_egress_namespaces_enrolled")
    if enrolled is None:
        found.gap("no leading control could be asked how many namespaces are enrolled")
        return
    opened = largest(control, "sallyport_egress_namespaces_opened") or 0
    found.off = not enrolled
    found.says.append(f"{enrolled:.0f} namespaces are enrolled, {opened:.0f} opened by BreakGlass")
    for name in ("namespaces_failing", "foreign_policies", "names_taken"):
        if largest(control, f"sallyport_egress_{name}") is None:
            found.gap(f"the leading control does not show sallyport_egress_{name}")
    if failing := largest(control, "sallyport_egress_namespaces_failing") or 0:
        found.problem(
            f"the egress policies of {failing:.0f} namespaces cannot be written",
            "kubectl describe egressallowlists -A: the condition Ready has the reason",
            alert("SallyportEgressNotWritten"),
        )
    foreign = (largest(control, "sallyport_egress_foreign_policies") or 0) + (
        largest(control, "sallyport_egress_names_taken") or 0
    )
    if foreign:
        found.problem(
            f"{foreign:.0f} network policies of others open more in enrolled namespaces",
            "sallyport egress explain on a destination that should be closed names the policy",
            alert("SallyportEgressOpenedByOthers"),
        )
    if largest(control, "sallyport_egress_service_tags_healthy") == 0:
        found.problem(
            "the file of Azure's service tags cannot be read; the file before stays in force",
            "look at the claim egress.tags.claim",
            alert("SallyportServiceTagsBroken"),
        )


def read_identity(seen: ProcessesSeen, found: AreaFindings) -> None:
    """Say how old what gates know of people's risk is."""
    gates, control = seen.of("gate"), seen.of("control")
    age = largest(gates, "sallyport_risk_age_seconds")
    problems = sorted(
        {
            labels.get("of", "")
            for metrics in control.values()
            for labels, value in metrics.all("sallyport_risk_problem")
            if value == 1
        }
    )
    if not gates:
        found.gap("no gate could be asked how old what it knows of risk is")
        return
    if age is None and not problems:
        found.off = True
        found.says.append("no risk of identities is read (identity.enabled)")
        return
    if age is not None:
        old = "was never complete" if math.isinf(age) else f"is {age:.0f} s old"
        found.says.append(f"what Entra ID says {old}")
    if age is not None and age > _RISK_OLD_S:
        found.problem(
            "what Entra ID says was never complete"
            if math.isinf(age)
            else f"gates judge by what Entra ID said {age / 60:.0f} minutes ago",
            "sallyport risk status; does control reach Graph (networkPolicies.azure)?",
            alert("SallyportRiskOld"),
        )
    if problems:
        found.problem(
            f"control cannot keep up to date: {', '.join(problems)}",
            "sallyport risk status",
            alert("SallyportRiskProblem"),
        )
