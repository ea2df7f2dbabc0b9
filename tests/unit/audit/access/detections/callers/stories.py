"""Stories of who makes requests: without a grant, a Pod or a right, at risk, never seen before."""

from typing import Any

from audit.access.model.detection import Event
from core.weights.documents.access import UNATTRIBUTED, Act, Caller, SignedBy
from core.weights.documents.events import Severity
from tests.unit.audit.access.detections.events import (
    ANN,
    BOB,
    Around,
    access,
    at,
    attributed,
    delete,
    pod,
)
from tests.unit.audit.access.detections.examples import fires, quiet
from tests.unit.audit.access.detections.storage_requests import (
    CAROL,
    DEFENDER,
    LIFECYCLE,
    OUTSIDE,
    SAS,
    SCANNER,
    UNGRANTED,
    habit,
)

LOW, MEDIUM, HIGH, CRITICAL = Severity

known = range(20)

fires(
    "new-caller",
    "a principal without a grant",
    lambda: [*habit(known), access(at(20), principal=BOB, **UNGRANTED)],
    MEDIUM,
)
fires(
    "new-caller",
    "a principal with a tool of its own",
    lambda: [*habit(known), access(at(20), principal=BOB, user_agent="rclone/v1.66", **UNGRANTED)],
    HIGH,
)
fires(
    "new-caller",
    "a public address",
    lambda: [*habit(known), access(at(20), caller=Caller.PUBLIC, address="203.0.113.7")],
    HIGH,
)
fires(
    "new-caller",
    "another tool under the same grant",
    lambda: [*habit(known), access(at(20), user_agent="AzCopy/10.21 Azure-Storage/0.15")],
    LOW,
)
quiet("new-caller", "a new researcher", lambda: [*habit(known), access(at(20), principal=BOB)])
quiet("new-caller", "while it is learnt", lambda: [access(at(1)), access(at(9), principal=BOB)])
quiet(
    "new-caller",
    "a newer version of the tool, from another node",
    lambda: [
        *habit(known),
        access(at(20), user_agent="azsdk-python-storage-blob/12.20.1", address="10.9.9.9"),
    ],
)

fires("no-live-pod", "none", lambda: [access(at(1), attribution=attributed(), grant="")], HIGH)
fires(
    "no-live-pod",
    "one that nobody admitted",
    lambda: [access(at(1), attribution=attributed(pod(decision="")))],
    MEDIUM,
)
fires(
    "no-live-pod",
    "none, but there is a gap",
    lambda: [access(at(1), attribution=attributed(gaps=True), grant="")],
    LOW,
)
quiet("no-live-pod", "one that was admitted", lambda: [access(at(1))])
quiet("no-live-pod", "a person with a grant", lambda: [access(at(1), attribution=attributed())])
quiet(
    "no-live-pod",
    "where nobody looked",
    lambda: [access(at(1), attribution=UNATTRIBUTED, grant="")],
)


def used(*addresses: tuple[str, Caller], **over: object) -> list[Event]:
    """Tell of one token that is used from these addresses."""
    return [
        access(at(1, n), address=address, caller=caller, attribution=attributed(), **over)
        for n, (address, caller) in enumerate(addresses)
    ]


NODE = ("10.0.0.4", Caller.NODE)
POD = ("10.244.0.9", Caller.POD)
NAT = ("198.51.100.10", Caller.PUBLIC)
NAT_2 = ("198.51.100.11", Caller.PUBLIC)
AWAY_ADDRESS = ("203.0.113.7", Caller.PUBLIC)

fires("token-two-addresses", "a node and the internet", lambda: used(NODE, AWAY_ADDRESS), HIGH)
fires(
    "token-two-addresses",
    "two Pods",
    lambda: used(POD, ("10.244.0.10", Caller.POD)),
    MEDIUM,
)
quiet("token-two-addresses", "one address", lambda: used(NODE, NODE))
quiet("token-two-addresses", "a NAT pool", lambda: used(NAT, NAT_2))
quiet("token-two-addresses", "a Pod and its node", lambda: used(POD, NODE))
quiet("token-two-addresses", "SNAT", lambda: used(POD, ("192.0.2.1", Caller.NETWORK)))
quiet(
    "token-two-addresses",
    "two addresses of one Pod",
    lambda: [access(at(1)), access(at(1, 1), address="10.0.0.5")],
)
quiet(
    "token-two-addresses",
    "a day later: no token lives so long",
    lambda: [used(NODE)[0], access(at(3), address="203.0.113.7", caller=Caller.PUBLIC)],
)


def risky(who: str, standing: str) -> Around:
    """Return surroundings in which an identity is at risk on the first day."""
    return Around(risks={who: (at(1), at(2), standing)})


ticks = [access(at(4, n), principal="9" * 8 + "-9999-9999-9999-" + "9" * 12) for n in range(20)]

fires(
    "access-at-risk",
    "high",
    lambda: [access(at(1, 2))],
    HIGH,
    around=lambda: risky(f"oid:{ANN}", "high"),
)
fires(
    "access-at-risk",
    "the human behind the Pod, compromised",
    lambda: [access(at(1, 2)), access(at(1, 3))],
    CRITICAL,
    around=lambda: risky(f"oid:{BOB}", "compromised"),
)
quiet("access-at-risk", "nobody", lambda: [access(at(1, 2)), *ticks])
quiet(
    "access-at-risk",
    "before and after",
    lambda: [access(at(0, 2)), access(at(3)), *ticks],
    lambda: risky(f"oid:{ANN}", "high"),
)

NONE = {"grant": "", "ungranted": "no grant names the service account"}

fires("ungranted", "a read", lambda: [access(at(1), bytes_out=9, **NONE)], HIGH)
fires("ungranted", "a listing", lambda: [access(at(1), act=Act.LIST, **NONE)], LOW)
fires(
    "ungranted",
    "much",
    lambda: [access(at(1, n / 10), blob=f"s{n}", **NONE) for n in range(12)],
    HIGH,
    CRITICAL,
)
fires(
    "ungranted",
    "with a gap",
    lambda: [access(at(1), bytes_out=9, attribution=attributed(pod(), gaps=True), **NONE)],
    MEDIUM,
)
quiet("ungranted", "granted", lambda: [access(at(1))])
quiet("ungranted", "refused by storage", lambda: [access(at(1), status=403, **NONE)])
quiet("ungranted", "by key", lambda: [access(at(1), signed_by=SignedBy.ACCOUNT_KEY, **NONE)])


FORBIDDEN: dict[str, Any] = {
    "status": 403,
    "status_text": "AuthorizationPermissionMismatch",
    "bytes_out": 0,
}
MISSING: dict[str, Any] = {"status": 404, "status_text": "BlobNotFound", "bytes_out": 0}
NOBODY: dict[str, Any] = {**SAS, "signed_by": SignedBy.ANONYMOUS, "token": ""}
STRANGER: dict[str, Any] = {"principal": CAROL, "grant": ""}


def refused(day: float, count: int, seconds: float = 2.0, **over: Any) -> list[Event]:
    """Tell of requests for one blob after the other that are refused."""
    return [
        access(at(day) + n * seconds, blob=f"guess-{n}", **{**FORBIDDEN, **over})
        for n in range(count)
    ]


fires("refused-burst", "without the right", lambda: refused(1, 60, **STRANGER), MEDIUM)
fires("refused-burst", "for names that are not there", lambda: refused(1, 400, 0.5, **MISSING), LOW)
fires(
    "refused-burst",
    "with a key that does not count any more, and then with a SAS",
    lambda: [
        *refused(1, 40, **SAS, **{**OUTSIDE, "status_text": "AuthenticationFailed"}),
        access(at(1, 0.5), **SAS, **OUTSIDE),
    ],
    MEDIUM,
    HIGH,
)
fires(
    "refused-burst",
    "under a grant, while a role that was assigned does not count yet",
    lambda: [*refused(1, 60), access(at(1, 0.5))],
    LOW,
)
fires(
    "refused-burst",
    "with a SAS, a Pod under a grant reads from there, and then another SAS works",
    lambda: [
        *refused(1, 40, **SAS, status_text="AuthenticationFailed"),
        access(at(1, 0.2)),
        access(at(1, 0.5), **{**SAS, "token": "cd:key1:0123"}),
    ],
    MEDIUM,
    HIGH,
)
fires(
    "refused-burst",
    "one identity outside, and then another one is let in from there",
    lambda: [*refused(1, 40, **STRANGER, **OUTSIDE), access(at(1, 0.5), grant="", **OUTSIDE)],
    MEDIUM,
    HIGH,
)
fires(
    "refused-burst",
    "another identity of the same node is let in",
    lambda: [*refused(1, 40, **STRANGER), access(at(1, 0.5), grant="")],
    MEDIUM,
)
GUESSES: dict[str, Any] = {
    "store": "",
    "operation": "ListBlobs",
    "act": Act.LIST,
    "blob": "",
    "status": 404,
    "status_text": "ResourceNotFound",
    "bytes_out": 0,
}
fires(
    "refused-burst",
    "containers that are not there",
    lambda: [
        access(at(1) + n, **{**GUESSES, "container": f"guess-{n}"}, **NOBODY, **OUTSIDE)
        for n in range(60)
    ],
    MEDIUM,
)
quiet(
    "refused-burst",
    "one container that is not there, again and again",
    lambda: [
        access(at(1) + n, **{**GUESSES, "container": "logs"}, **NOBODY, **OUTSIDE)
        for n in range(60)
    ],
)
quiet(
    "refused-burst",
    "containers of an account that has no weights",
    lambda: [
        access(at(1) + n, **{**GUESSES, "account": "x", "container": f"g{n}"}, **NOBODY)
        for n in range(60)
    ],
)
UNSIGNED: dict[str, Any] = {"status": 401, "status_text": "NoAuthenticationInformation"}
fires(
    "refused-burst",
    "without a signature, from outside",
    lambda: refused(1, 60, **NOBODY, **OUTSIDE, **UNSIGNED),
    MEDIUM,
)
quiet(
    "refused-burst",
    "a fleet whose clients are told which tokens are taken",
    lambda: refused(1, 60, **NOBODY, **UNSIGNED),
)
quiet("refused-burst", "a few", lambda: refused(1, 20, **STRANGER))
quiet("refused-burst", "one an hour", lambda: refused(1, 99, 3600, **STRANGER))
quiet(
    "refused-burst",
    "a job that polls for a marker",
    lambda: [access(at(1) + n, blob="_SUCCESS", **MISSING, **STRANGER) for n in range(3000)],
)
quiet(
    "refused-burst",
    "leases, conditions and throttling",
    lambda: [
        one for status in (409, 412, 503) for one in refused(1, 99, **STRANGER, status=status)
    ],
)

fires("ungranted", "Defender's scanner", lambda: [access(at(1), **DEFENDER)], LOW)
fires("no-live-pod", "Defender's scanner", lambda: [access(at(1), **DEFENDER)], LOW)
fires("new-caller", "Defender's scanner", lambda: [*habit(known), access(at(20), **DEFENDER)], LOW)
fires(
    "ungranted",
    "one with Defender's role in a Pod, and outside",
    lambda: [
        access(at(1), **{**DEFENDER, "caller": Caller.NODE}),
        access(at(2), **DEFENDER | OUTSIDE),
    ],
    HIGH,
    HIGH,
)
fires(
    "ungranted",
    "one with Defender's role that writes",
    lambda: [access(at(1), operation="PutBlob", act=Act.WRITE, **DEFENDER)],
    HIGH,
)
quiet("ungranted", "lifecycle management", lambda: [delete(at(1), "s1", **LIFECYCLE)])
fires(
    "ungranted",
    "one that claims to be lifecycle management, and signed in",
    lambda: [delete(at(1), "s1", **UNGRANTED, user_agent=SCANNER)],
    HIGH,
)
