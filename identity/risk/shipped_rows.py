"""The rows that every installation has, below those of the site, and why each is as it is.

`docs/operate/risk-table.md` is made from them. The first that matches counts.
"""

from typing import Final

from core.risk.model import Effect, OperationClass, Role, Standing
from identity.risk.table_rows import RiskRow

_RUN: Final = frozenset({OperationClass.CREATE_WORKLOAD})
_ENTER: Final = frozenset({OperationClass.EXEC})
_ASKS: Final = frozenset({OperationClass.ASK})
_VOUCH: Final = frozenset({OperationClass.APPROVE, OperationClass.BREAK_GLASS})
_APPROVE: Final = frozenset({OperationClass.APPROVE})
_GLASS: Final = frozenset({OperationClass.BREAK_GLASS})
_LASTING: Final = frozenset({OperationClass.APPROVE, OperationClass.MAKE_CREDENTIALS})
_AUTHOR: Final = frozenset({Role.AUTHOR})
_WHO_ASKS: Final = frozenset({Role.REQUESTER})
_NOT_ASKING: Final = frozenset({Role.AUTHOR, Role.WORKLOAD})


def _row(  # noqa: PLR0913 -- they are the columns of the table
    name: str,
    standings: set[Standing],
    effect: Effect,
    why: str,
    *,
    operations: frozenset[OperationClass] = frozenset(OperationClass),
    roles: frozenset[Role] = frozenset(Role),
) -> tuple[RiskRow, str]:
    row = RiskRow(
        name=f"shipped/{name}",
        effect=effect,
        standings=frozenset(standings),
        operations=operations,
        roles=roles,
    )
    return row, why


SHIPPED_ROWS: Final[tuple[tuple[RiskRow, str], ...]] = (
    _row(
        "compromised",
        {Standing.COMPROMISED},
        Effect.DENY,
        "An administrator, or Entra itself, says that somebody else has the account: whatever it "
        "asks, submitted or signs in as is theirs.",
    ),
    _row(
        "deleted-asks",
        {Standing.DELETED},
        Effect.DENY,
        "Whoever is deleted has nothing to ask; a token from before lives for up to 90 minutes.",
        roles=_WHO_ASKS,
    ),
    _row(
        "deleted-left",
        {Standing.DELETED},
        Effect.WARN,
        "What people leave behind when they go keeps running: a node that is drained must not end "
        "a service because its author has left. It is recorded, so that somebody takes it over.",
        roles=_NOT_ASKING,
    ),
    _row(
        "author-at-risk",
        {Standing.MEDIUM, Standing.HIGH, Standing.UNKNOWN},
        Effect.SANDBOX,
        "A controller makes a Pod again of what they submitted, perhaps before the risk. It may be "
        "the intruder's way to stay, or a service that others need: contained, it can be both.",
        operations=_RUN,
        roles=_AUTHOR,
    ),
    _row(
        "author-entered",
        {Standing.MEDIUM, Standing.HIGH, Standing.UNKNOWN},
        Effect.WARN,
        "Somebody else, who counts for themselves, enters what they submitted: to look at it.",
        operations=_ENTER,
        roles=_AUTHOR,
    ),
    _row(
        "high",
        {Standing.HIGH},
        Effect.DENY,
        "Entra is confident that the account, or the application's credential, is in others' "
        "hands.",
    ),
    _row(
        "medium-workloads",
        {Standing.MEDIUM, Standing.UNKNOWN},
        Effect.SANDBOX,
        "Most are false alarms, and training must go on; what it starts is contained until "
        "signing in again has cleared it. A level or state that this release does not know is "
        "taken for medium.",
        operations=_RUN,
    ),
    _row(
        "medium-asks",
        {Standing.MEDIUM, Standing.UNKNOWN},
        Effect.WARN,
        "What is asked for has no effect until two others have approved it.",
        operations=_ASKS,
    ),
    _row(
        "unknown-glass",
        {Standing.UNKNOWN},
        Effect.WARN,
        "A word that Entra has begun to use must not lock the way out. Whoever is at risk cannot "
        "activate one, whatever the table says.",
        operations=_GLASS,
    ),
    _row(
        "medium",
        {Standing.MEDIUM, Standing.UNKNOWN},
        Effect.DENY,
        "A shell, a credential, a right, an approval or the weights are what a stolen session is "
        "used for, and what it leaves behind; signing in again takes minutes.",
    ),
    _row(
        "low-vouches",
        {Standing.LOW},
        Effect.DENY,
        "A user at risk approves nothing and breaks no glass: others can.",
        operations=_VOUCH,
    ),
    _row(
        "low",
        {Standing.LOW},
        Effect.WARN,
        "Low risk is frequent and mostly wrong; to say so is enough.",
    ),
    _row(
        "revoked-works",
        {Standing.REVOKED},
        Effect.WARN,
        "Most revocations are changes of a password, and kube-apiserver does not say when a token "
        "was issued: for 90 minutes the new session looks like the old one.",
        operations=_RUN | _ASKS | _GLASS,
        roles=_WHO_ASKS,
    ),
    _row(
        "revoked",
        {Standing.REVOKED},
        Effect.DENY,
        "A token from before the revocation may be the stolen one.",
        roles=_WHO_ASKS,
    ),
    _row(
        "revoked-left",
        {Standing.REVOKED},
        Effect.WARN,
        "Sessions are of who asks; what they submitted, or what a Pod signs in as, has none.",
        roles=_NOT_ASKING,
    ),
    _row(
        "stale-lasting",
        {Standing.STALE},
        Effect.DENY,
        "An approval and a credential outlive the moment in which nobody knew, and can wait. "
        "Rights are not among them: who mends the poller may have to change some.",
        operations=_LASTING,
        roles=_WHO_ASKS,
    ),
    _row(
        "stale",
        {Standing.STALE},
        Effect.WARN,
        "That Microsoft, or the way to it, is down must not stop research; a namespace can choose "
        "otherwise (`sallyport.dev/when-risk-stale`). Whoever was known to be at risk stays so.",
    ),
    _row(
        "hidden-asks",
        {Standing.HIDDEN},
        Effect.WARN,
        "Without the licence nobody's level is shown. To refuse would stop everyone for good.",
        roles=_WHO_ASKS,
    ),
    _row(
        "hidden",
        {Standing.HIDDEN},
        Effect.ALLOW,
        "The same of who submitted it and of what it signs in as; the decision records it. A "
        "warning would go to a controller, thousands of times.",
        roles=_NOT_ASKING,
    ),
    _row(
        "unassessed-vouches",
        {Standing.MANAGED_IDENTITY, Standing.GUEST, Standing.FOREIGN, Standing.UNIDENTIFIED},
        Effect.DENY,
        "To approve and to break glass takes somebody of whom it would be known that they are at "
        "risk. A site whose guests approve says so in a row of its own.",
        operations=_VOUCH,
    ),
    _row(
        "foreign",
        {Standing.FOREIGN},
        Effect.WARN,
        "Its risk lies in another tenant, and so may what it takes there. Where it connects is "
        "for egress to decide.",
    ),
    _row(
        "unidentified",
        {Standing.UNIDENTIFIED},
        Effect.WARN,
        "A client id out of a Secret is ordinary, one that is new is looked up within a minute, "
        "and a program can use one that no field shows: to refuse it would stop only the honest.",
    ),
    _row(
        "guest",
        {Standing.GUEST},
        Effect.WARN,
        "The risk of a guest is told in the tenant that they come from, not here.",
        roles=_WHO_ASKS,
    ),
    _row(
        "guest-left",
        {Standing.GUEST},
        Effect.ALLOW,
        "They were warned when they submitted it.",
        roles=_NOT_ASKING,
    ),
    _row(
        "managed-identity",
        {Standing.MANAGED_IDENTITY},
        Effect.ALLOW,
        "Entra never assesses one, so there is nothing to wait for; it is recorded as not "
        "assessed. It has no password that could be stolen elsewhere.",
    ),
    _row(
        "cleared",
        {Standing.REMEDIATED, Standing.DISMISSED, Standing.CONFIRMED_SAFE},
        Effect.ALLOW,
        "They have proved who they are, or an administrator has looked.",
    ),
    _row(
        "outside",
        {Standing.OUTSIDE},
        Effect.ALLOW,
        "A certificate or another issuer: Entra knows nothing of it, and everything else that "
        "Sallyport and RBAC demand still holds. It is the way in when Entra is down.",
    ),
    _row("clean", {Standing.CLEAN}, Effect.ALLOW, "It is assessed, and there is no risk."),
    _row(
        "otherwise",
        set(Standing),
        Effect.DENY,
        "What no row above knows. This release knows nothing that comes here.",
    ),
)
