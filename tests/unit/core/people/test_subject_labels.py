"""What is written of a subject in logs and evidence: never a person's name."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.people.subject import Subject, service_account_subject

OID = "0c7f6f0e-5a3c-4c0e-9c1d-6f6f2b1f0a11"
# An "@" is in no label, so a name that has one can only be there because it leaked.
PERSONS = st.builds("{}@{}".format, st.text(min_size=1, max_size=12), st.text(max_size=12)).filter(
    lambda name: not name.startswith("system:")
)


@pytest.mark.parametrize(
    ("subject", "label"),
    [
        (
            Subject("system:serviceaccount:train:default"),
            "system:serviceaccount:train:default",
        ),
        (Subject("system:node:aks-gpu-0"), "system:node:aks-gpu-0"),
        (Subject("system:anonymous"), "system:anonymous"),
        (Subject("alice@example.com", extra={"oid": [OID]}), f"oid:{OID}"),
        (Subject("alice@example.com", extra={"oid": [OID.upper()]}), f"oid:{OID.upper()}"),
        # SHA-256 of the name, from `printf %s alice@example.com | sha256sum`.
        (Subject("alice@example.com"), "user:ff8d9819fc0e12bf"),
        (Subject("alice@example.com", extra={"oid": []}), "user:ff8d9819fc0e12bf"),
        (Subject("alice@example.com", extra={"oid": [OID, OID]}), "user:ff8d9819fc0e12bf"),
        (Subject("alice@example.com", extra={"oid": [""]}), "user:ff8d9819fc0e12bf"),
        (Subject("alice@example.com", extra={"oid": ["alice"]}), "user:ff8d9819fc0e12bf"),
        (Subject("alice@example.com", extra={"oid": [OID + "\n"]}), "user:ff8d9819fc0e12bf"),
        (Subject(""), "user:e3b0c44298fc1c14"),
    ],
)
def test_label_tells_subjects_apart_without_naming_persons(subject: Subject, label: str) -> None:
    """Identities of the cluster by name, persons by Entra's object id, else by a digest."""
    assert subject.label == label


@given(
    name=PERSONS,
    extra=st.dictionaries(st.sampled_from(["oid", "upn"]), st.lists(PERSONS, max_size=2)),
    groups=st.lists(PERSONS, max_size=2),
)
def test_label_never_holds_a_persons_name(
    name: str, extra: dict[str, list[str]], groups: list[str]
) -> None:
    """Whatever the authenticator says of a person, the label is an id or a digest."""
    label = Subject(name, uid=name, groups=groups, extra=extra).label
    assert re.fullmatch(r"user:[0-9a-f]{16}", label)


@given(one=PERSONS, other=PERSONS)
def test_labels_differ_where_names_do(one: str, other: str) -> None:
    """Two people are two labels; the same one is the same label each time."""
    assert (Subject(one).label == Subject(other).label) is (one == other)


def test_service_account_is_the_subject_that_its_pods_are() -> None:
    """User name and groups are those that kube-apiserver gives a service account."""
    assert service_account_subject("train", "trainer") == Subject(
        username="system:serviceaccount:train:trainer",
        groups=[
            "system:serviceaccounts",
            "system:serviceaccounts:train",
            "system:authenticated",
        ],
    )


@pytest.mark.parametrize(
    ("username", "expected"),
    [
        ("system:serviceaccount:train:trainer", True),
        ("system:serviceaccounts:train", False),
        ("system:node:x", False),
        ("alice", False),
    ],
)
def test_service_accounts_are_known_by_their_prefix(username: str, *, expected: bool) -> None:
    """Only `system:serviceaccount:` marks one; kube-apiserver keeps it from everyone else."""
    assert Subject(username).is_service_account is expected
