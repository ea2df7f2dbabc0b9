"""The score is the sum of what counts, each rule once."""

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from core.decision.decision import Need
from core.sandbox.decision import Signal, WeighedSignal
from sandbox.risk_score import UNKNOWN_POINTS, RiskScore, score_risk


class _Rule:
    """A rule's METADATA, as far as it is weighed."""

    def __init__(self, points: int = 0, risk: int = 0, message: str = "runs {value}") -> None:
        self.points = points
        self.message = message
        self._risk = risk

    def risk_of(self, privilege: str) -> int:
        """Return the risk; of a writable path, more."""
        return self._risk * 2 if "rw" in privilege else self._risk


RULES: Final = {
    "sandbox/code/notebook": _Rule(40),
    "sandbox/code/installs": _Rule(20),
    "sandbox/exposure/none": _Rule(0),
    "privileges/container/privileged": _Rule(risk=60),
    "privileges/volume/hostPath": _Rule(risk=30),
}
NOTEBOOK: Final = Signal("sandbox/code/notebook", "spec.containers[0].image", "jupyter")
INSTALLS: Final = Signal("sandbox/code/installs", "spec.containers[1].command", "pip")
PRIVILEGED: Final = Need(
    "privileges/container/privileged", "container/privileged", "spec.containers[0]"
)


def test_signals_add_up_the_heaviest_first() -> None:
    """Each with its points, its place and its rule's message."""
    assert score_risk((INSTALLS, NOTEBOOK), (), RULES, {}) == RiskScore(
        (
            WeighedSignal(NOTEBOOK.rule, 40, NOTEBOOK.path, "runs jupyter"),
            WeighedSignal(INSTALLS.rule, 20, INSTALLS.path, "runs pip"),
        ),
        60,
    )


def test_each_rule_counts_once() -> None:
    """Ten notebooks are as risky as one."""
    many = [Signal(NOTEBOOK.rule, f"spec.containers[{i}].image", "jupyter") for i in range(10)]
    found = score_risk(many, (), RULES, {})
    assert (found.score, [each.path for each in found.counted]) == (40, [many[0].path])


def test_privileges_count_by_exception_only_and_by_what_they_are() -> None:
    """Those that are handed over are weighed by their rule, at their heaviest."""
    rule = "privileges/volume/hostPath"
    read = Need(rule, "volume/hostPath:ro/etc", "spec.volumes[0]")
    written = Need(rule, "volume/hostPath:rw/etc", "spec.volumes[1]")
    found = score_risk((), (read, written, PRIVILEGED), RULES, {})
    assert [(each.rule, each.points, each.path) for each in found.counted] == [
        (PRIVILEGED.rule, 60, "spec.containers[0]"),
        (rule, 60, "spec.volumes[1]"),
    ]
    assert found.score == 120
    assert score_risk((), (), RULES, {}) == RiskScore()


def test_a_sites_points_are_those_that_count() -> None:
    """More, less, or none: what has no points is not counted."""
    points = {NOTEBOOK.rule: 70, INSTALLS.rule: 0}
    found = score_risk((NOTEBOOK, INSTALLS), (), RULES, points)
    assert [(each.rule, each.points) for each in found.counted] == [(NOTEBOOK.rule, 70)]


def test_a_signal_of_no_known_rule_counts_most() -> None:
    """What nobody described is not harmless."""
    unknown = Signal("sandbox/site/mine", "spec")
    assert score_risk((unknown,), (), RULES, {}).score == UNKNOWN_POINTS


def test_a_reason_holds_no_control_characters() -> None:
    """It is shown to people and written to the record, and is of bounded length."""
    nasty = Signal(NOTEBOOK.rule, "spec", "x\n\x1b[31m" + 5000 * "y")
    (found,) = score_risk((nasty,), (), RULES, {}).counted
    assert found.reason.isprintable()
    assert len(found.reason) <= 200


_signals = st.builds(
    Signal, st.sampled_from(sorted(RULES)), st.sampled_from(["spec", "metadata"]), st.text()
)
_needs = st.builds(
    Need, st.sampled_from(sorted(RULES)), st.sampled_from(["a/rw", "a/ro"]), st.just("spec")
)


@given(
    st.lists(_signals),
    st.lists(_needs),
    st.lists(_signals),
    st.lists(_needs),
    st.dictionaries(st.sampled_from(sorted(RULES)), st.integers(0, 1000)),
)
def test_more_is_never_less(
    signals: list[Signal],
    needs: list[Need],
    more_signals: list[Signal],
    more_needs: list[Need],
    points: dict[str, int],
) -> None:
    """Whatever is added to what there is, the score does not fall; order does not matter."""
    before = score_risk(signals, needs, RULES, points)
    after = score_risk(signals + more_signals, needs + more_needs, RULES, points)
    assert after.score >= before.score
    assert score_risk(signals[::-1], needs[::-1], RULES, points).score == before.score
    assert before.score == sum(each.points for each in before.counted)
