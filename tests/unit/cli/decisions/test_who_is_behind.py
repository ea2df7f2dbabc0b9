"""`sallyport decisions` and `explain` name the human behind what a controller made."""

import msgspec
import pytest
from rich.console import Console

from admission.explain.explanation import explain
from cli.decisions.render import _who
from cli.explain.render import _print_root
from core.decision.document import TracedRoot
from tests.unit.core.decision.test_golden_documents import FIRST

ROOT = TracedRoot(kind="Job", name="llm", uid="u1", requester="oid:x", profile="net")


def test_decisions_name_the_human_first() -> None:
    """Then the controller; who asked alone where no controller did."""
    made = msgspec.structs.replace(FIRST, requester="system:job-controller", root=ROOT)
    assert _who(made) == "oid:x through system:job-controller"
    assert _who(msgspec.structs.replace(FIRST, root=None)) == FIRST.requester
    unnoted = TracedRoot(kind="Job", name="llm", uid="u1")
    assert _who(msgspec.structs.replace(made, root=unnoted)) == "system:job-controller"


@pytest.mark.parametrize(
    ("root", "says"),
    [
        (ROOT, "Job llm (u1): oid:x, under the profile net"),
        (TracedRoot(kind="Job", name="llm", uid="u1"), "nobody: it has no requester note"),
    ],
)
def test_explain_names_the_workload(root: TracedRoot, says: str) -> None:
    """With the UID by which it was traced."""
    console = Console(width=200, record=True, quiet=False, file=None)
    with console.capture() as captured:
        _print_root(msgspec.structs.replace(FIRST, root=root), console)
    assert says in captured.get()


@pytest.mark.parametrize("rule", ["notes/requester", "notes/root", "notes/owner-gone"])
def test_what_to_do_about_notes_is_what_their_findings_say(rule: str) -> None:
    """No profile and no right would change the answer."""
    finding = msgspec.structs.replace(FIRST.findings[0], rule=rule, privilege=None)
    explained = explain(
        msgspec.structs.replace(
            FIRST, findings=[finding], more_findings=0, error_kind=None, left_alone=""
        )
    )
    (change,) = explained.changes
    assert (change.who, [field.remedy for field in change.fields]) == ("author", [finding.remedy])
