"""29: encryption of an account moved to a key of another vault or tenant."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.model.detection import Detection, EventContext, ResponseStep
from audit.access.model.findings import make_finding
from audit.access.model.sightings import is_change
from audit.access.parsers.activity_facts import actor_text, fact_text
from core.weights.documents.events import Activity, Finding, Severity, Topic

_STORAGE_KEY: Final = "microsoft.storage"


class EncryptionKeyState(msgspec.Struct):
    """What this detection remembers."""

    keys: dict[str, str] = {}
    """By account or encryption scope: vault, key, application of another tenant."""


def _see(event: Activity, state: EncryptionKeyState, known: EventContext) -> Sequence[Finding]:
    source = fact_text(event, "keySource")
    if not known.done or not source or not event.store:
        return ()
    vault, key, federated = (fact_text(event, one) for one in ("vault", "vaultKey", "federated"))
    if source == _STORAGE_KEY:
        vault = key = federated = ""
    before = state.keys.get(event.resource)
    now = f"{vault} {key} {federated}"
    is_asked = event.facts.get("asked") is True
    if not is_change(state.keys, event.resource, now, asked=is_asked) or not vault:
        return ()
    severity, why = _judge(before, vault, federated)
    return [
        make_finding(
            DETECTION,
            event,
            known,
            (event.resource, now, str(known.day)),
            severity,
            f"{event.resource.rsplit('/', 1)[-1]}: encryption moved to a key in {vault}",
            f"By {actor_text(event)}: {event.operation}. Key {key or 'not told'} in {vault}; "
            f"before: {_text_of(before)}. {why} Whoever holds the key can take it away, and nobody "
            "reads the weights then.",
        )
    ]


def _judge(before: str | None, vault: str, federated: str) -> tuple[Severity, str]:
    if federated:
        return (
            Severity.CRITICAL,
            f"The vault is reached as the application {federated} of another tenant.",
        )
    if before is None:
        return Severity.HIGH, "The log did not say before which key it was."
    if before.partition(" ")[0] == vault:
        return Severity.MEDIUM, "The vault is the same."
    return Severity.HIGH, "The vault is another one."


def _text_of(before: str | None) -> str:
    if before is None:
        return "not known"
    vault, _, rest = before.partition(" ")
    return f"{rest.partition(' ')[0]} in {vault}" if vault else "a key of Microsoft's"


DETECTION: Final = Detection(
    id="encryption-key",
    number=29,
    title="Encryption moved to a key of another vault or tenant",
    about="The key that encrypts an account of a WeightStore, or an encryption scope of it, was "
    "set to one in another key vault (high), to one that is reached by an application of another "
    "tenant (`federatedIdentityClientId`, critical), or to another key of the same vault (medium). "
    "Who holds the key can revoke it, and ask for a ransom. New versions of the same key are "
    "quiet, and so is what was set already; so is a move to keys that Microsoft manages.",
    severity=Severity.CRITICAL,
    techniques=("T1486", "T1657"),
    needs=("Azure's Activity log of the accounts' subscriptions",),
    blind=(
        "whose vault it is, where no application of another tenant is named",
        "keys that callers send with requests (`x-ms-encryption-key`): no log has them",
        "a key that is disabled, deleted or whose access is taken away: the vault's own log",
    ),
    fires=(
        "`Microsoft.Storage/storageAccounts/write` whose request sets `encryption.keySource` to "
        "`Microsoft.Keyvault` and `keyvaulturi` to another vault: high",
        "the same with `encryption.identity.federatedIdentityClientId`: critical",
        "`…/encryptionScopes/write` with another `keyUri`: high",
    ),
    quiet=(
        "a new version of the same key",
        "tags written by Terraform, where Azure's answer names the key that was there",
        "`keySource: Microsoft.Storage`",
    ),
    remedy="Set the key back while the other one still works: then everything is read as before.",
    steps=(
        ResponseStep(
            10,
            "Set `encryption` back to your own vault or to `Microsoft.Storage`, while the present "
            "key is enabled: Azure wraps the account's key anew at once, no blob is rewritten.",
        ),
        ResponseStep(
            15, "Block the principal that did it; take from it the right to write the account."
        ),
        ResponseStep(
            30, "Copy the newest checkpoints into an account with another key, if reads still work."
        ),
        ResponseStep(
            60,
            "Look in the vaults' logs for keys that were disabled, deleted or purged, and "
            "recover those of your own.",
        ),
    ),
    recoverable="All, as long as the present key is enabled and reached. Once its holder takes it "
    "away, every request is refused with 403 (`KeyVaultEncryptionKeyNotFound` and the like), and "
    "only the holder, or a deleted key of your own vault within its soft-delete days, brings the "
    "blobs back; else copies under other keys.",
    bound="4096 accounts and scopes",
    begin=EncryptionKeyState,
    see=_see,
    topics=frozenset({Topic.ENCRYPTION}),
)
