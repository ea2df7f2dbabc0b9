"""What a namespace's labels and annotations say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base import names
from core.decision.namespaces import Mode, Namespace, guarded_settings
from core.risk.model import Effect


@pytest.mark.parametrize(
    ("labels", "default", "expected"),
    [
        ({}, Mode.ENFORCE, Mode.ENFORCE),
        ({}, Mode.WARN, Mode.WARN),
        ({}, Mode.AUDIT, Mode.AUDIT),
        ({"sallyport.dev/mode": "enforce"}, Mode.AUDIT, Mode.ENFORCE),
        ({"sallyport.dev/mode": "warn"}, Mode.ENFORCE, Mode.WARN),
        ({"sallyport.dev/mode": "audit"}, Mode.ENFORCE, Mode.AUDIT),
        ({"sallyport.dev/mode": "Audit"}, Mode.AUDIT, Mode.ENFORCE),
        ({"sallyport.dev/mode": " warn"}, Mode.WARN, Mode.ENFORCE),
        ({"sallyport.dev/mode": ""}, Mode.AUDIT, Mode.ENFORCE),
        ({"sallyport.dev/mode": "off"}, Mode.AUDIT, Mode.ENFORCE),
        ({"mode": "audit"}, Mode.ENFORCE, Mode.ENFORCE),
    ],
)
def test_mode_is_the_labels_or_the_default(
    labels: dict[str, str], default: Mode, expected: Mode
) -> None:
    """Without the label the default; with a word that nobody knows the strictest."""
    assert Namespace("train", labels).mode(default) is expected


@given(word=st.text(max_size=12), default=st.sampled_from(Mode))
def test_unknown_words_enforce(word: str, default: Mode) -> None:
    """A slip of the pen never opens a namespace."""
    known = {mode.value: mode for mode in Mode}
    found = Namespace("train", {names.MODE_LABEL: word}).mode(default)
    assert found is known.get(word, Mode.ENFORCE)


@given(word=st.none() | st.sampled_from([each.value for each in Effect]) | st.text(max_size=12))
def test_stale_risk_is_the_namespaces_choice(word: str | None) -> None:
    """Without the label no choice; with one of the four words that one; any other word refuses."""
    labels = {} if word is None else {"sallyport.dev/when-risk-stale": word}
    known = {None: None} | {each.value: each for each in Effect}
    assert Namespace("train", labels).when_risk_stale is known.get(word, Effect.DENY)


def test_the_risk_class_is_a_free_word() -> None:
    """It is the label's as it is written, for rows of the site's table; empty without one."""
    labels = {"sallyport.dev/risk-class": "Weights"}
    assert (Namespace("a", labels).risk_class, Namespace("b").risk_class) == ("Weights", "")


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, None),
        ({"sallyport.dev/ceiling": ""}, frozenset()),
        ({"sallyport.dev/ceiling": " , ,"}, frozenset()),
        ({"sallyport.dev/ceiling": "baseline"}, frozenset({"baseline"})),
        ({"sallyport.dev/ceiling": " a, b ,a,"}, frozenset({"a", "b"})),
        ({"sallyport.dev/ceiling": "*"}, frozenset({"*"})),
        ({"sallyport.dev/profile": "a"}, None),
    ],
)
def test_ceiling_lists_profiles(
    annotations: dict[str, str], expected: frozenset[str] | None
) -> None:
    """No annotation is no ceiling; an empty one leaves nothing; names are never patterns."""
    assert Namespace("train", annotations=annotations).ceiling == expected


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [({}, None), ({"sallyport.dev/profile": "rdma"}, "rdma")],
)
def test_profile_is_the_annotations(annotations: dict[str, str], expected: str | None) -> None:
    """A namespace may name one profile for all that is in it."""
    assert Namespace("train", annotations=annotations).profile == expected


@pytest.mark.parametrize(
    ("labels", "annotations", "expected"),
    [
        ({}, {}, {}),
        ({"team": "nlp"}, {"sallyport.dev/profile": "rdma"}, {}),
        (
            {"sallyport.dev/mode": "audit"},
            {},
            {"metadata.labels[sallyport.dev/mode]": "audit"},
        ),
        (
            {"sallyport.dev/risk-class": "weights", "sallyport.dev/when-risk-stale": "allow"},
            {},
            {
                "metadata.labels[sallyport.dev/risk-class]": "weights",
                "metadata.labels[sallyport.dev/when-risk-stale]": "allow",
            },
        ),
        ({"control-plane": ""}, {}, {"metadata.labels[control-plane]": ""}),
        (
            {"kubernetes.azure.com/managedby": "aks", "kubernetes.azure.comx": "1"},
            {},
            {"metadata.labels[kubernetes.azure.com/managedby]": "aks"},
        ),
        (
            {},
            {"sallyport.dev/ceiling": ""},
            {"metadata.annotations[sallyport.dev/ceiling]": ""},
        ),
        # A label and an annotation are told apart: only the right one is read as a mark.
        ({"sallyport.dev/ceiling": "a"}, {"sallyport.dev/mode": "audit"}, {}),
    ],
)
def test_guarded_settings_are_those_that_decide_how_a_namespace_is_judged(
    labels: dict[str, str], annotations: dict[str, str], expected: dict[str, str]
) -> None:
    """Mode, ceiling, risk, and the labels by which AKS leaves namespaces out; by field path."""
    assert guarded_settings(labels, annotations) == expected


@given(
    labels=st.dictionaries(st.text(max_size=20), st.text(max_size=5), max_size=5),
    annotations=st.dictionaries(st.text(max_size=20), st.text(max_size=5), max_size=5),
)
def test_marks_of_others_are_free(labels: dict[str, str], annotations: dict[str, str]) -> None:
    """What is not of Sallyport or AKS is nobody's business here."""
    free = {key: v for key, v in labels.items() if "/" not in key and key != "control-plane"}
    other = {key: v for key, v in annotations.items() if key != names.CEILING_ANNOTATION}
    assert guarded_settings(free, other) == {}
