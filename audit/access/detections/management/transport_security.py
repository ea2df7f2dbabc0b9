"""31: plain HTTP or an old version of TLS allowed."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.model.detection import Detection, EventContext, ResponseStep
from audit.access.model.findings import make_finding
from audit.access.model.sightings import is_change
from audit.access.parsers.activity_facts import actor_text, fact_text
from core.weights.documents.events import Activity, Finding, Severity, Topic

_OLD: Final = frozenset({"tls1_0", "tls1_1"})
"""RFC 8996 forbids both."""


class TransportWeakenedState(msgspec.Struct):
    """What this detection remembers."""

    settings: dict[str, str] = {}
    """By account and setting."""


def _see(event: Activity, state: TransportWeakenedState, known: EventContext) -> Sequence[Finding]:
    if not known.done or not event.store:
        return ()
    https, least = fact_text(event, "httpsOnly"), fact_text(event, "minimumTls")
    weak: list[tuple[Severity, str]] = []
    if _is_new(event, state, "https", https) and https == "false":
        weak.append((Severity.HIGH, "requests without TLS were allowed"))
    if _is_new(event, state, "tls", least) and least in _OLD:
        weak.append((Severity.MEDIUM, f"{least.upper()} was allowed"))
    if not weak:
        return ()
    told = " and ".join(text for _, text in weak)
    return [
        make_finding(
            DETECTION,
            event,
            known,
            (event.account, told, str(known.day)),
            weak[0][0],
            f"{event.account}: {told}",
            f"By {actor_text(event)}: {event.operation}. Who sits on the way may read weights, and "
            "keys and SAS in requests; a SAS that was seen is used from anywhere.",
        )
    ]


def _is_new(event: Activity, state: TransportWeakenedState, name: str, value: str) -> bool:
    asked = event.facts.get("asked") is True
    return bool(value) and is_change(state.settings, f"{event.account} {name}", value, asked=asked)


DETECTION: Final = Detection(
    id="transport-weakened",
    number=31,
    title="Plain HTTP or an old version of TLS allowed",
    about="An account of a WeightStore was set to answer requests without TLS "
    "(`supportsHttpsTrafficOnly: false`, high) or with TLS 1.0 or 1.1 (`minimumTlsVersion`, "
    "medium). What stood before is remembered: writing the same again is quiet, and so is a "
    "stricter setting.",
    severity=Severity.HIGH,
    techniques=("T1562.010", "T1557", "T1040"),
    needs=("Azure's Activity log of the accounts' subscriptions",),
    blind=("settings that stood before the log, until somebody changes them",),
    fires=(
        "`Microsoft.Storage/storageAccounts/write` whose request sets "
        "`supportsHttpsTrafficOnly: false`: high",
        "the same with `minimumTlsVersion: TLS1_0`: medium",
    ),
    quiet=(
        "`minimumTlsVersion: TLS1_2`, `supportsHttpsTrafficOnly: true`",
        "an answer of Azure's that names how things stand, to a request for something else",
    ),
    remedy="Set it back, and regenerate keys and SAS that were used in plain.",
    steps=(
        ResponseStep(10, "Set `supportsHttpsTrafficOnly: true` and `minimumTlsVersion: TLS1_2`."),
        ResponseStep(
            30,
            "List requests since with `protocol` HTTP or an old `tlsVersion` in the storage logs.",
        ),
        ResponseStep(60, "Regenerate both account keys, if any of these carried a key or a SAS."),
    ),
    recoverable="The settings. What was read on the way is disclosed and cannot be called back.",
    bound="4096 settings",
    begin=TransportWeakenedState,
    see=_see,
    topics=frozenset({Topic.TRANSPORT}),
)
