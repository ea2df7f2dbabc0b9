"""Whose risk counts, as read from user info, notes and client ids."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.people.subject import Subject, service_account_subject
from core.risk.model import Role, identity_key, subject_key
from identity.risk.principals import (
    PrincipalNature,
    principal_of,
    principal_of_client,
    principal_of_note,
)
from tests.unit.identity.risk.identities import CLIENT, PERSON, TENANT

GROUP = "00000000-0000-4000-8000-0000000000AB"


def _person(username: str, oid: str = PERSON) -> Subject:
    return Subject(username, groups=["team", GROUP, "system:authenticated"], extra={"oid": [oid]})


@pytest.mark.parametrize(
    "subject",
    [
        service_account_subject("train", "default"),
        Subject("system:kube-scheduler"),
        Subject("system:anonymous"),
        Subject("system:node:n1", extra={"oid": [PERSON]}),
    ],
    ids=lambda subject: subject.username,
)
def test_the_clusters_own_identities_have_no_risk(subject: Subject) -> None:
    """Controllers, nodes and service accounts are none of Entra's: nobody is asked about them."""
    assert principal_of(subject) is None


@pytest.mark.parametrize(
    ("subject", "nature", "is_guest"),
    [
        (_person("a@example.com"), PrincipalNature.PERSON, False),
        (_person("a_elsewhere.org#EXT#@example.onmicrosoft.com"), PrincipalNature.PERSON, True),
        (_person("a_elsewhere.org#ext#@example.onmicrosoft.com"), PrincipalNature.PERSON, True),
        (_person(PERSON), PrincipalNature.APPLICATION, False),
        (_person(PERSON.upper()), PrincipalNature.APPLICATION, False),
        (_person(CLIENT), PrincipalNature.PERSON, False),
        (_person("a@example.com", "no id"), PrincipalNature.APPLICATION, False),
        (_person("a@example.com", f"{{{PERSON}}}"), PrincipalNature.APPLICATION, False),
        (
            Subject("a@example.com", extra={"oid": [PERSON, PERSON]}),
            PrincipalNature.APPLICATION,
            False,
        ),
        (Subject("a@example.com", extra={"oid": []}), PrincipalNature.OUTSIDE, False),
        (Subject("masterclient", groups=["system:masters"]), PrincipalNature.OUTSIDE, False),
        (Subject(PERSON), PrincipalNature.OUTSIDE, False),
        (Subject(""), PrincipalNature.OUTSIDE, False),
    ],
)
def test_who_asks_is_told_apart_by_user_name_and_object_id(
    subject: Subject, nature: PrincipalNature, *, is_guest: bool
) -> None:
    """The user name is the UPN, with #EXT# for guests; where it is the object id: an application.

    Without an object id Entra knows nothing of it, whatever the name looks like; with one that is
    none, or several, nobody knows which it is.
    """
    found = principal_of(subject)
    assert found is not None
    assert (found.nature, found.is_guest, found.role) == (nature, is_guest, Role.REQUESTER)
    assert (found.who, found.key) == (subject.label, subject_key(subject))


def test_groups_are_object_ids_in_lower_case() -> None:
    """Other groups are none of Entra's, and rows name object ids only."""
    found = principal_of(_person("a@example.com"))
    assert found is not None
    assert found.groups == {GROUP.lower()}


@pytest.mark.parametrize(
    ("label", "nature"),
    [
        (f"oid:{PERSON}", PrincipalNature.PERSON),
        ("user:0123456789abcdef", PrincipalNature.OUTSIDE),
        ("somebody", PrincipalNature.OUTSIDE),
    ],
)
def test_a_note_names_its_author(label: str, nature: PrincipalNature) -> None:
    """An object id is a person's of Entra; anything else is outside, and knows no groups."""
    found = principal_of_note(label)
    assert found is not None
    assert (found.role, found.who, found.key) == (Role.AUTHOR, label, identity_key(label))
    assert (found.nature, found.groups) == (nature, frozenset())


@pytest.mark.parametrize("label", ["", "system:serviceaccount:argo:argo", "system:admin"])
def test_a_note_of_the_cluster_has_no_risk(label: str) -> None:
    """What a service account submitted has no author of Entra's; nor has what nobody did."""
    assert principal_of_note(label) is None


def test_a_client_id_is_compared_without_case() -> None:
    """Entra compares them so; the label and the tenant are in lower case."""
    found = principal_of_client(CLIENT.upper(), TENANT.upper())
    assert found == principal_of_client(CLIENT, TENANT)
    assert (found.who, found.tenant, found.key) == (
        f"client:{CLIENT}",
        TENANT,
        identity_key(CLIENT),
    )


@given(st.text(max_size=40) | st.uuids().map(lambda each: "{" + str(each) + "}"))
def test_whatever_is_no_guid_is_unidentified(text: str) -> None:
    """No text but a GUID as Entra writes it passes for a client id, or gets into the record."""
    found = principal_of_client(text)
    try:
        is_guid = str(uuid.UUID(text)) == text.lower()
    except ValueError:
        is_guid = False
    assert found.who == (f"client:{text.lower()}" if is_guid else "client:unidentified")
    assert found.role is Role.WORKLOAD
