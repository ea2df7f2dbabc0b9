"""Names of detections, as they are typed."""

import difflib
from collections.abc import Sequence

from audit.access.detections.catalogue import DETECTIONS
from core.base.errors import SettingsError


def require_detections(names: Sequence[str]) -> frozenset[str]:
    """Return the names, if each is a detection's.

    Raises:
        SettingsError: one is none; the message names what is near.
    """
    known = [each.id for each in DETECTIONS]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3) or known[:3]
            raise SettingsError(f"--detection {name}: there is none; there is {', '.join(near)} …")
    return frozenset(names)
