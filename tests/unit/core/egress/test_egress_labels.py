"""The labels by which policies select Pods: always sound, and never one for two names."""

from hypothesis import given
from hypothesis import strategies as st

from core.base import names
from core.egress.pod_labels import egress_labels, label_value, reserved_labels, workload_label
from core.kubernetes.label_selectors import is_label_value

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=300)
LONG = st.from_regex(r"[a-z]([a-z0-9.-]{60,250}[a-z0-9])", fullmatch=True)


@given(st.one_of(NAMES, LONG))
def test_whatever_the_name_the_label_is_sound(name: str) -> None:
    """Also where the name is too long, or is no label's value."""
    assert is_label_value(label_value(name))
    assert label_value(name)


@given(st.one_of(NAMES, LONG), st.one_of(NAMES, LONG))
def test_two_names_never_have_one_label(one: str, other: str) -> None:
    """Nor is a shortened one ever another's own name."""
    if one != other:
        assert label_value(one) != label_value(other)
    assert label_value(label_value(one)) == label_value(one) or "--x" in label_value(one)


def test_a_shortened_name_cannot_be_taken_by_another() -> None:
    """Whoever names a service account like the label of a longer one has another label."""
    longer = "a" * 100
    assert label_value(longer) != label_value(label_value(longer))


def test_a_name_that_fits_is_itself() -> None:
    """So that people can read policies."""
    assert label_value("trainer") == "trainer"
    assert label_value("a" * 63) == "a" * 63
    assert workload_label("Job", "fetch") == "Job.fetch"


def test_no_workload_is_shown_as_none() -> None:
    """Both labels are always there; no workload is called so."""
    assert egress_labels("trainer", ("none", "")) != egress_labels("trainer", None)
    assert egress_labels("trainer", None) == {
        names.EGRESS_ACCOUNT_LABEL: "trainer",
        names.EGRESS_WORKLOAD_LABEL: "none",
    }


def test_reserved_are_all_under_the_prefix() -> None:
    """Others that look alike are not."""
    labels = {"egress.sallyport.dev/x": "1", "xegress.sallyport.dev/y": "2", "sallyport.dev/z": "3"}
    assert reserved_labels(labels) == {"egress.sallyport.dev/x": "1"}
