"""What rules' answers become: privileges with their catalogue, denials in words, who may use."""

from collections.abc import Iterable, Mapping

from admission.model.candidates import Candidates
from admission.model.facts import NamedProfile
from admission.model.messages import printable, rule_message
from admission.profiles.access_reviews import Rights
from core.decision.decision import Action, Denial, Finding, Need
from core.decision.namespaces import Mode
from policies.bundle.format import Rule
from policies.engine.entry_points import MOST_OF_MESSAGE


def since(needs: Iterable[Need], rules: Mapping[str, Rule]) -> dict[str, int]:
    """Give the different privileges, each with the catalogue in which it appeared."""
    found: dict[str, int] = {}
    for need in needs:
        rule = rules.get(need.rule)
        version = rule.since if rule else 1
        found[need.privilege] = min(version, found.get(need.privilege, version))
    return found


def denied(denial: Denial, rules: Mapping[str, Rule]) -> Finding:
    """Word what a rule denies to everyone."""
    rule = rules.get(denial.rule)
    if denial.message:
        message = printable(denial.message, MOST_OF_MESSAGE)
    else:
        message = rule_message(rule.message, denial.value) if rule else "may never be set"
    remedy = rule.remedy if rule else "Remove it."
    return Finding(
        denial.rule, Action.DENY, denial.path, message, remedy, container=denial.container
    )


async def ask_usable(
    named: NamedProfile | None, tried: Candidates, rights: Rights, mode: Mode
) -> dict[str, bool]:
    """Ask which of the profiles that matter may be used.

    Raises:
        AccessReviewError: the cluster did not say.
    """
    if named and named.whoever_asks:
        return {named.name: True}
    wanted = tried.only(named.name) if named else tried
    return await rights.usable(wanted, advise=named is None and mode is not Mode.AUDIT)
