"""13: who may sign in as an identity was changed: a federated credential's issuer or subject."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.model.detection import Detection, EventContext
from audit.access.model.findings import make_finding
from audit.access.model.sightings import is_news
from audit.access.parsers.activity_facts import actor_text, fact_text, is_delete
from core.weights.documents.events import Activity, Finding, Severity, Topic

_MOST: Final = 4096
_SERVICE_ACCOUNT: Final = "system:serviceaccount:"


class FederatedCredentialState(msgspec.Struct):
    """What this detection remembers."""

    trust: dict[str, str] = {}
    """By credential, the issuer and subject that it had last."""
    issuers: dict[str, int] = {}
    """Issuers that credentials name, and on how many days one was named anew."""
    raised: dict[str, int] = {}


def _see(
    event: Activity, state: FederatedCredentialState, known: EventContext
) -> Sequence[Finding]:
    if not known.done:
        return ()
    issuer, subject = fact_text(event, "issuer"), fact_text(event, "subject")
    credential = (
        event.resource or f"{fact_text(event, 'identity')}/{fact_text(event, 'credential')}"
    )
    if is_delete(event):
        state.trust.pop(credential, None)
        return ()
    now = f"{issuer} {subject}"
    before = fact_text(event, "before") or state.trust.get(credential, "")
    _keep(state.trust, credential, now)
    is_known = issuer in state.issuers
    if issuer:
        _keep(state.issuers, issuer, known.day)
    if before == now and issuer:
        return ()
    severity, how = _judge(before, is_known=is_known, subject=subject)
    name = f"{credential} {now} {known.day}"
    if not is_news(state.raised, name):
        return ()
    was = f" Before, it was {before.replace(' ', ', ')}." if before.strip() else ""
    return [
        make_finding(
            DETECTION,
            event,
            known,
            (name,),
            severity,
            f"A federated credential was {how}: other workloads can sign in as the identity",
            f"{credential or 'A credential'} trusts issuer {issuer or 'not told'}, subject "
            f"{subject or 'not told'}.{was} By {actor_text(event)}. The issuer "
            + ("is one that other credentials name." if is_known else "was not seen before."),
        )
    ]


def _judge(before: str, *, is_known: bool, subject: str) -> tuple[Severity, str]:
    how = "changed" if before.strip() else "made"
    if not is_known:
        return Severity.HIGH, how
    is_workload = subject.startswith(_SERVICE_ACCOUNT)
    if before.strip():
        return (Severity.MEDIUM if is_workload else Severity.HIGH), how
    # A new credential for a service account of a known cluster: identities are replaced so.
    return (Severity.LOW if is_workload else Severity.MEDIUM), how


def _keep(room: dict[str, str] | dict[str, int], key: str, value: str | int) -> None:
    if key not in room and len(room) >= _MOST:
        del room[next(iter(room))]
    room[key] = value  # type: ignore[assignment]


DETECTION: Final = Detection(
    id="federated-credential",
    number=13,
    title="A federated credential was made or changed",
    about="Issuer and subject of a federated credential say which tokens of which cluster (or of "
    "whom else) sign in as an identity. High where the issuer was never named before, or another "
    "subject than a service account is put into one; medium where it becomes another service "
    "account, or a new one trusts something else of a known issuer; low for a new one that trusts "
    "a service account of a known issuer. Deleting one, and writing it as it was, is quiet.",
    severity=Severity.HIGH,
    techniques=("T1098.001", "T1550.001", "AML.T0012"),
    needs=("Azure's Activity log (managed identities), Entra ID's audit log (applications)",),
    blind=(
        "the first issuers that are seen: all are new then",
        "secrets and certificates of applications: another way in, which Entra's own alerts tell",
        "an issuer whose keys somebody else holds",
    ),
    remedy="Delete the credential if nobody asked for it, and look at what it read since.",
    bound=f"{_MOST} credentials and issuers, as many findings",
    begin=FederatedCredentialState,
    see=_see,
    topics=frozenset({Topic.FEDERATED_CREDENTIAL}),
)
