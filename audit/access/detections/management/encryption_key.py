"""29: encryption of an account moved to a key of another vault or tenant, or the key taken away."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.model.coverage import Coverage, Same
from audit.access.model.detection import Detection, EventContext, ResponseStep
from audit.access.model.findings import graver_key, make_finding, requests_text
from audit.access.model.sightings import digest_of, is_change, is_news, touch
from audit.access.parsers.activity_facts import actor_text, fact_text
from core.weights.documents.access import Access, Act
from core.weights.documents.events import Activity, Finding, Severity, Topic

_STORAGE_KEY: Final = "microsoft.storage"
_REFUSED: Final = "refused"
_FORBIDDEN: Final = 403
_MOST_DAYS: Final = 512
_GRAVE_BLOBS: Final = 5
_CODES: Final = ("keyvault", "encryptionscope")
"""How error codes begin of requests for which storage cannot use the key (`KeyVaultEncryption
KeyNotFound`, `KeyVaultVaultNotFound`, `EncryptionScopeDisabled`; Microsoft Learn, "Troubleshoot
errors caused by customer-managed keys" and "Encryption scopes for Blob storage")."""


class RefusedKeyDay(msgspec.Struct, gc=False, array_like=True):
    """Requests to a store on a day for which storage could not use the key."""

    first: float
    events: int = 0
    blobs: list[int] = []
    """Digests of the first of them."""


class EncryptionKeyState(msgspec.Struct):
    """What this detection remembers."""

    keys: dict[str, str] = {}
    """By account or encryption scope: vault, key, application of another tenant."""
    refused: dict[str, RefusedKeyDay] = {}
    raised: dict[str, int] = {}


def _see(
    event: Access | Activity, state: EncryptionKeyState, known: EventContext
) -> Sequence[Finding]:
    if isinstance(event, Access):
        return _judge_refusal(event, state, known) if _is_refused(event) else ()
    if not known.done:
        return ()
    if fact_text(event, "gone"):
        return _judge_vault(event, state, known)
    if fact_text(event, "state") == "disabled" and event.store:
        return _scope_disabled(event, state, known)
    return _judge_key(event, state, known)


def _is_refused(access: Access) -> bool:
    """Return whether storage could not use the key that encrypts what was asked for."""
    return access.status == _FORBIDDEN and access.status_text.lower().startswith(_CODES)


def _judge_refusal(
    access: Access, state: EncryptionKeyState, known: EventContext
) -> Sequence[Finding]:
    name = f"{access.store} {known.day}"
    day = touch(state.refused, name, lambda: RefusedKeyDay(known.at), _MOST_DAYS)
    day.events += 1
    digest = digest_of(access.container, access.blob)
    if digest not in day.blobs and len(day.blobs) < _GRAVE_BLOBS:
        day.blobs.append(digest)
    severity = Severity.CRITICAL if len(day.blobs) >= _GRAVE_BLOBS else Severity.HIGH
    finding_key = graver_key(state.raised, f"{_REFUSED} {name}", severity, least=Severity.HIGH)
    if finding_key is None:
        return ()
    return [
        make_finding(
            DETECTION,
            access,
            known,
            finding_key,
            severity,
            f"{access.store}: readers are refused, the key of the weights cannot be used",
            f"{requests_text(day.events)} so far this day, the last one of "
            f"{access.blob or access.container or access.account} by {known.who}: "
            f"{access.status_text}. The key, its vault or the right to it was taken away, or the "
            "encryption scope was disabled; nobody reads the weights until it is back.",
            first=day.first,
            events=day.events,
            aspect=_REFUSED,
        )
    ]


def _judge_vault(
    event: Activity, state: EncryptionKeyState, known: EventContext
) -> Sequence[Finding]:
    """Judge that a vault is gone: of concern where it has the key of an account or scope."""
    vault, gone = fact_text(event, "vault"), fact_text(event, "gone")
    held = sorted(one for one, key in state.keys.items() if vault != "." and key.startswith(vault))
    name = f"{gone} {vault} {known.day}"
    if not held or not is_news(state.raised, name):
        return ()
    names = ", ".join(one.rsplit("/", 1)[-1] for one in held[:5])
    purged = gone == "purged"
    after = (
        "Its keys are gone for good, and with them what they encrypt."
        if purged
        else "It can be recovered within its soft-delete days, unless somebody purges it."
    )
    return [
        make_finding(
            DETECTION,
            event,
            known,
            (name,),
            Severity.CRITICAL if purged else Severity.HIGH,
            f"The key vault {vault.rstrip('.')}, whose key encrypts {names}, was {gone}",
            f"By {actor_text(event)}: {event.operation} at {event.resource}. {after}",
        )
    ]


def _scope_disabled(
    event: Activity, state: EncryptionKeyState, known: EventContext
) -> Sequence[Finding]:
    name = f"disabled {event.resource} {known.day}"
    if not is_news(state.raised, name):
        return ()
    return [
        make_finding(
            DETECTION,
            event,
            known,
            (name,),
            Severity.MEDIUM,
            f"The encryption scope {event.resource.rsplit('/', 1)[-1]} was disabled",
            f"By {actor_text(event)}: {event.operation} at {event.resource}. Every request for a "
            "blob of this scope is refused with 403 until it is enabled again.",
        )
    ]


def _judge_key(
    event: Activity, state: EncryptionKeyState, known: EventContext
) -> Sequence[Finding]:
    source = fact_text(event, "keySource")
    if not source or not event.store:
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
    title="Encryption moved to a key of another vault or tenant, or the key taken away",
    about="The key that encrypts an account of a WeightStore, or an encryption scope of it, was "
    "set to one in another key vault (high), to one that is reached by an application of another "
    "tenant (`federatedIdentityClientId`, critical), or to another key of the same vault (medium). "
    "Who holds the key can revoke it, and ask for a ransom. New versions of the same key are "
    "quiet, and so is what was set already; so is a move to keys that Microsoft manages. Also that "
    "the vault of a known key was deleted (high) or purged (critical), that an encryption scope "
    "was disabled (medium), and that readers are refused with 403 since storage cannot use the key "
    "(high; critical for five blobs).",
    severity=Severity.CRITICAL,
    techniques=("T1486", "T1657", "T1485"),
    needs=(
        "Azure's Activity log of the subscriptions of the accounts and of the vaults",
        "the StorageRead log, for readers that are refused",
    ),
    blind=(
        "whose vault it is, where no application of another tenant is named",
        "keys that callers send with requests (`x-ms-encryption-key`): no log has them",
        "a key that is disabled, deleted or whose access is taken away, until somebody is refused: "
        "the vault's own log has it, and is not read",
        "deletion of a vault of which no entry said that its key encrypts a store",
    ),
    fires=(
        "`Microsoft.Storage/storageAccounts/write` whose request sets `encryption.keySource` to "
        "`Microsoft.Keyvault` and `keyvaulturi` to another vault: high",
        "the same with `encryption.identity.federatedIdentityClientId`: critical",
        "`…/encryptionScopes/write` with another `keyUri`: high",
        "`Microsoft.KeyVault/vaults/delete` of the vault of the store's key: high; "
        "`Microsoft.KeyVault/locations/deletedVaults/purge/action` of it: critical",
        "GetBlob of a shard refused with 403 `KeyVaultEncryptionKeyNotFound`: high",
    ),
    quiet=(
        "a new version of the same key",
        "tags written by Terraform, where Azure's answer names the key that was there",
        "`keySource: Microsoft.Storage`",
        "a vault that has no key of a store deleted and purged, as tests do",
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
    bound="4096 accounts and scopes, 512 days and stores, 4096 findings",
    begin=EncryptionKeyState,
    see=_see,
    refused=frozenset(Act),
    covers={_REFUSED: Coverage(_is_refused, frozenset({Same.STORE}))},
    topics=frozenset({Topic.ENCRYPTION}),
)
