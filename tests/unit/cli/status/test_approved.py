"""`sallyport status` counts approvals as the gate does."""

import pytest

from cli.shared.cluster_status.relaxations import is_approved
from core.people.subject import Subject, service_account_subject
from core.people.two_person import Approvable, Consent, person_of

AUTHOR, ANN, BEN = (Subject(f"{name}@example.com") for name in ("author", "ann", "ben"))
ROBOT = service_account_subject("ci", "robot")
WHAT = Approvable("uid-1", "sha256:1", person_of(AUTHOR))
NOW = 100.0


def consent(who: Subject, digest: str = "sha256:1", expires: float = 1000.0) -> Consent:
    """Return an approval."""
    return Consent(who.username, who, "uid-1", digest, expires)


@pytest.mark.parametrize(
    ("consents", "approved"),
    [
        ([consent(ANN), consent(BEN)], True),
        ([consent(ANN)], False),
        ([consent(AUTHOR), consent(ANN)], False),
        ([consent(ROBOT), consent(ANN)], False),
        ([consent(ANN), consent(BEN, digest="sha256:2")], False),
        ([consent(ANN), consent(BEN, expires=NOW - 1)], False),
    ],
    ids=["two people", "one", "the author", "a robot", "of what it was", "ended"],
)
def test_two_others_approve(consents: list[Consent], approved: bool) -> None:  # noqa: FBT001
    """Whoever wrote it, and what is no person, does not count."""
    assert is_approved(WHAT, consents, NOW) is approved
