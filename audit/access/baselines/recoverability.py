"""Whether what was deleted or overwritten can be brought back, as far as the logs say.

Resource logs do not tell the settings of an account; Azure's Activity log tells of their changes.
"""

from typing import Final

import msgspec

from audit.access.model.detection import EventContext
from audit.access.model.sightings import touch
from core.base.times import day_text
from core.weights.documents.events import Activity

_MOST: Final = 1024

_NAMES: Final = {
    "deleteretentionpolicy": "soft delete of blobs",
    "isversioningenabled": "versioning",
    "containerdeleteretentionpolicy": "soft delete of containers",
}

BLOBS: Final = ("deleteretentionpolicy", "isversioningenabled")
"""What keeps a blob that is deleted or overwritten."""

CONTAINERS: Final = ("containerdeleteretentionpolicy",)
"""What keeps a container that is deleted, with its blobs."""


class AccountProtection(msgspec.Struct, gc=False, array_like=True):
    """What the Activity log last said of an account's settings."""

    on: dict[str, float] = {}
    """Unix seconds, by the setting."""
    off: dict[str, float] = {}


def note_protection(
    accounts: dict[str, AccountProtection], activity: Activity, known: EventContext
) -> None:
    """Learn which settings were switched on or off; one that was refused changes nothing."""
    named = [str(one) for one in activity.facts.get("which") or () if str(one) in _NAMES]
    if not known.done or not activity.account or not named:
        return
    account = touch(accounts, activity.account, AccountProtection, _MOST)
    off = {str(one) for one in activity.facts.get("off") or ()}
    for name in named:
        now, before = (account.off, account.on) if name in off else (account.on, account.off)
        now[name] = known.at
        before.pop(name, None)


def recovery_text(
    accounts: dict[str, AccountProtection], account: str, settings: tuple[str, ...] = BLOBS
) -> str:
    """Say for a person what the logs know of how to bring something back."""
    held = accounts.get(account) or AccountProtection()
    on = [_told(name, held.on[name]) for name in settings if name in held.on]
    off = [_told(name, held.off[name]) for name in settings if name in held.off]
    unknown = [_NAMES[name] for name in settings if name not in held.on and name not in held.off]
    parts = [
        f"{' and '.join(on)} switched on: it can be brought back while that lasts" if on else "",
        f"{' and '.join(off)} switched off: that does not bring it back" if off else "",
        f"no log that was read says whether {' or '.join(unknown)} is on" if unknown else "",
    ]
    text = "; ".join(part for part in parts if part)
    return f"{text[:1].upper()}{text[1:]}."


def _told(name: str, at: float) -> str:
    return f"{_NAMES[name]} (said on {day_text(at)})"
