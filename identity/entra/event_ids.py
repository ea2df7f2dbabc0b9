"""Ids of pushed events as they may be kept: never a name, an address or mail. Pure."""

import hashlib
import re
from typing import Final

_USUAL: Final = re.compile(r"[0-9a-f]{16,64}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def kept_event_id(text: str) -> str:
    """Give an event's id as it is where it can be nothing else; empty for none.

    Microsoft's are hexadecimal or GUIDs. Of anything else its SHA-256 is kept, by which whoever
    has the original finds it: an issuer may put what it likes into a `jti`.
    """
    if not text or _USUAL.fullmatch(text.lower()):
        return text.lower()
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
