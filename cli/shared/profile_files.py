"""Reads the ContainerProfile of a file."""

from pathlib import Path

from core.base import names
from core.base.errors import SettingsError
from core.profiles.container_profiles import ContainerProfile, parse_profile
from kube.manifests.reader import read_paths


def read_profile(path: Path) -> ContainerProfile:
    """Read the only profile of a file.

    Raises:
        SettingsError: it holds none, or several.
        InvalidObjectError: it is broken.
    """
    found = [
        parse_profile(manifest.raw)
        for manifest in read_paths([path])
        if (manifest.group, manifest.kind) == (names.GROUP, "ContainerProfile")
    ]
    if len(found) != 1:
        raise SettingsError(f"{path} holds {len(found)} ContainerProfiles: name a file with one")
    return found[0]
