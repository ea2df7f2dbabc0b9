"""A notice that fits where little room is. Pure."""

from collections.abc import Callable, Iterator

import msgspec

from audit.notifications.notice import Notice
from core.base.safe_text import cut_after

_STEPS = ((5, 500), (2, 200), (0, 80))
"""Names of a list and characters of a text that are left, ever fewer."""


def fit_notice(notice: Notice, encode: Callable[[Notice], bytes], most: int) -> bytes:
    """Return a notice of at most so many bytes, with as much of its lists and texts as fits.

    Where the least is too long as well, that is returned: who it is for may cut or refuse it.
    """
    made = b""
    for each in _ever_shorter(notice):
        made = encode(each)
        if len(made) <= most:
            break
    return made


def _ever_shorter(notice: Notice) -> Iterator[Notice]:
    yield notice
    for names, characters in _STEPS:
        yield msgspec.structs.replace(
            notice,
            detail=cut_after(notice.detail, characters),
            remedy=cut_after(notice.remedy, characters),
            title=cut_after(notice.title, max(characters, 200)),
            account=cut_after(notice.account, max(characters, 200)),
            container=cut_after(notice.container, max(characters, 200)),
            who=cut_after(notice.who, max(characters, 200)),
            requesters=notice.requesters[:names],
            pods=notice.pods[:names],
            addresses=notice.addresses[:names],
            techniques=notice.techniques[:names],
        )
