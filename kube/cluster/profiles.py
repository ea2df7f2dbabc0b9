"""ContainerProfiles of a real cluster: one that is broken is kept with the reason."""

import msgspec

from core.base.errors import InvalidObjectError
from core.profiles.container_profiles import ContainerProfile, parse_profile


class BrokenProfile(msgspec.Struct, frozen=True):
    """A ContainerProfile that is left out, and why."""

    problem: str


def read_profile(raw: msgspec.Raw) -> ContainerProfile | BrokenProfile:
    """Read a ContainerProfile, or say why it cannot be."""
    try:
        return parse_profile(raw)
    except InvalidObjectError as error:
        return BrokenProfile(str(error))
