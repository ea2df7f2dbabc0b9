"""19: SFTP or local users switched on: a way in that Entra ID does not know."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.model.detection import Detection, EventContext
from audit.access.model.findings import make_finding
from audit.access.model.sightings import is_news
from audit.access.parsers.activity_facts import actor_text, fact_text, is_delete
from core.weights.documents.events import Activity, Finding, Severity, Topic


class SftpOrLocalUsersState(msgspec.Struct):
    """What this detection remembers."""

    raised: dict[str, int] = {}


def _see(event: Activity, state: SftpOrLocalUsersState, known: EventContext) -> Sequence[Finding]:
    if not known.done or is_delete(event):
        return ()
    switches = [event.facts.get("sftp"), event.facts.get("localUsers")]
    user = fact_text(event, "user")
    if not user and True not in switches and False in switches:
        return ()
    name = f"{event.account} {user} {known.day}"
    if not is_news(state.raised, name):
        return ()
    what = "A local user was made or given a password" if user else "SFTP or local users were on"
    return [
        make_finding(
            DETECTION,
            event,
            known,
            (name,),
            Severity.HIGH,
            f"{event.account}: {what.replace('were on', 'were switched on')}",
            f"By {actor_text(event)}: {event.operation}"
            + (f", for the user {user}" if user else "")
            + ". Local users sign in with a password or key of the account's own: no grant, no "
            "identity risk and no attribution covers them.",
        )
    ]


DETECTION: Final = Detection(
    id="sftp-or-local-users",
    number=19,
    title="SFTP or local users switched on",
    about="SFTP or local users were switched on at an account, or a local user was made, changed, "
    "or given a password or key. Switching off and deleting are quiet.",
    severity=Severity.HIGH,
    techniques=("T1136.003", "T1098.001"),
    needs=("Azure's Activity log",),
    blind=("users that were there before the log", "what an account allows from its beginning"),
    remedy="Set isSftpEnabled and isLocalUserEnabled to false, and delete the local users.",
    bound="4096 findings",
    begin=SftpOrLocalUsersState,
    see=_see,
    topics=frozenset({Topic.SFTP_OR_LOCAL_USERS}),
)
