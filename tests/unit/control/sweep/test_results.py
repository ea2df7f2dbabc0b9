"""What is kept of a Pod: enough for an operator, and bounded whatever the Pod says."""

from typing import Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from control.sweep.results import cut, result_of
from core.decision.decision import Verdict
from tests.unit.control.sweep.sample_pods import decision, finding, listed

SEVERITIES: Final = {"privileges/host/network": "high", "privileges/run-as/any": "low"}


def severity_of(rule: str) -> str:
    """Know two rules."""
    return SEVERITIES.get(rule, "")


def test_the_finding_of_the_highest_severity_speaks() -> None:
    """One result stands for all findings of a Pod; the others are counted."""
    mild = finding("privileges/run-as/any", privilege="run-as/any")
    made = decision(Verdict.DENY, mild, finding(), mild)
    kept = result_of(listed("p", owner="Job/j"), made, severity_of)
    assert msgspec.structs.asdict(kept) == {
        "verdict": Verdict.DENY,
        "name": "p",
        "uid": "u",
        "findings": 3,
        "rule": "privileges/host/network",
        "severity": "high",
        "message": "spec.hostNetwork: shares the node's network. Remove hostNetwork."
        " And 2 more findings.",
        "privileges": "run-as/any, host/network",
        "owner": "Job/j",
    }


def test_an_error_is_told_apart_from_a_denial() -> None:
    """What nobody could judge says so, and why."""
    made = decision(
        Verdict.ERROR, error_kind="object", reason="spec is broken", field="spec.volumes"
    )
    kept = result_of(listed(), made, severity_of)
    assert (kept.rule, kept.severity, kept.findings) == ("error/object", "high", 0)
    assert kept.message == (
        "Could not be judged; this is an error, not a denial. spec.volumes: spec is broken"
    )


@pytest.mark.parametrize("severity", ["", "HIGH", "catastrophic"])
def test_a_severity_that_openreports_does_not_know_is_medium(severity: str) -> None:
    """A Report with another word would be refused whole."""
    kept = result_of(listed(), decision(Verdict.DENY, finding()), lambda _: severity)
    assert kept.severity == "medium"


@given(st.text(), st.integers(8, 80))
def test_a_cut_text_fits_and_begins_as_it_did(text: str, most: int) -> None:
    """Whatever characters it holds, it takes no more bytes of JSON; what fits is left alone."""
    kept = cut(text, most)
    assert len(msgspec.json.encode(kept)) <= most
    if len(msgspec.json.encode(text)) <= most:
        assert kept == text
    else:
        assert kept.endswith("…")
        assert text.startswith(kept[:-1])


@given(st.text(max_size=5000))
def test_no_text_makes_a_result_large(text: str) -> None:
    """A Pod's author chooses names, paths and messages: 1.5 KiB of them are kept at most."""
    made = decision(
        Verdict.DENY, finding(text, path=text, message=text, remedy=text, privilege=text)
    )
    kept = result_of(listed(text, text, owner=text), made, severity_of)
    assert len(msgspec.json.encode(kept)) < 1536
