"""Reports to print, with the worst that names and messages can hold."""

from hypothesis import strategies as st

from cli.output import as_unicode
from cli.review.report import Located, Report
from cli.review.yaml_positions import Position
from cli.shared.results import Result, Reviewed
from core.decision.decision import Action, Finding, Verdict
from policies.bundle.format import Rule

HOSTILE = (
    "a\n::error::b%0A\r,:]]><b>&\"'\x00\x1b[2J\x85\u2028\udce9\ufffe"
    " [x](http://e.example) {0} \u202e"
)

RULE = Rule(
    id="privileges/host/network",
    title="Network of the node",
    description="Sees the traffic of the node.",
    severity="high",
    message="shares the network of the node",
    remedy="Remove it.",
    since=1,
    sources=["https://kubernetes.example/docs"],
)

texts = st.text(st.characters() | st.sampled_from(list(HOSTILE)), max_size=30)
files = texts.map(
    lambda text: f"f{text}".encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")
)
"""Names as the operating system gives them: what is no UTF-8 is escaped."""


def finding(  # noqa: PLR0913 (a finding has this many parts)
    path: str = "spec.hostNetwork",
    action: Action = Action.DENY,
    *,
    rule: str = RULE.id,
    privilege: str | None = "host/network",
    container: str | None = None,
    message: str = "shares the network of the node",
) -> Finding:
    """Return a finding."""
    return Finding(rule, action, path, message, "Remove it.", privilege, container)


def result(
    *findings: Finding,
    name: str = "x",
    file: str = "a.yaml",
    verdict: Verdict = Verdict.DENY,
) -> Result:
    """Return a Pod's result."""
    element = Reviewed(
        file=as_unicode(file),
        api_version="v1",
        kind="Pod",
        namespace="train",
        name=name,
        verdict=verdict,
        findings=list(findings),
    )
    return Result(element, file=file, part="#1")


def report(*results: Result) -> Report:
    """Return a report in which one rule is in force."""
    return Report(results, {RULE.id: RULE})


def located(found: Result, path: str | None = "a.yaml", place: Position | None = None) -> Located:
    """Return a result whose findings all stand at one place."""
    return Located(found, path, [place for _ in found.element.findings])
