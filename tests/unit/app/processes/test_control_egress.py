"""How the loops of egress are put together from the settings."""

from app.processes.control.egress import enrolled_labels
from app.settings.egress import EgressSection, enrolment_of
from core.base import names
from core.decision.namespaces import Namespace
from core.kubernetes.label_selectors import matches


def test_the_floor_is_for_the_namespaces_that_are_enrolled() -> None:
    """It closes none that is not; beside the default it leaves out what only its label enrols."""
    for default in ("open", "deny"):
        section = EgressSection.model_validate({"default": default, "excluded": ["left-out"]})
        enrolment, labels = enrolment_of(section, "own"), enrolled_labels(section, "own")
        for name in ("own", "kube-system", "left-out", "team"):
            for word in ("", "open", "deny", "denied"):
                marks = {names.EGRESS_LABEL: word} if word else {}
                closed = matches(labels, {**marks, names.NAMESPACE_NAME_LABEL: name})
                enrolled = enrolment.enrols(Namespace(name, marks))
                apart = default == "deny" and name in enrolment.excluded
                assert closed == (enrolled and not apart), (default, name, word)
