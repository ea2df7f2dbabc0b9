"""The OCI registry of policy bundles, as flags or settings name it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.settings.messages import name_setting
from core.base.errors import SettingsError
from policies.clients.oci_registry import Registry


@dataclass(frozen=True)
class RegistryOptionNames:
    """What people call the three, for messages."""

    ca_file: str
    username: str
    password_file: str


FLAGS: Final = RegistryOptionNames("--ca-file", "--username", "--password-file")
SETTINGS: Final = RegistryOptionNames(
    *(name_setting(f"bundles.source.{each}") for each in ("ca_file", "username", "password_file"))
)


def read_registry(
    ca_file: Path | None, username: str, password_file: Path | None, named: RegistryOptionNames
) -> Registry:
    """Read the password, and see that the CA can be read.

    Raises:
        SettingsError: a file cannot be read, or there is a password and nobody whose it is.
    """
    if password_file and not username:
        raise SettingsError(
            f"{named.username}: missing; {named.password_file} says a password: give who signs in "
            "with it, or leave the file out"
        )
    try:
        password = password_file.read_text().strip() if password_file else ""
    except (OSError, UnicodeDecodeError) as error:
        problem = f"{named.password_file}: {password_file} cannot be read: {error}"
        raise SettingsError(f"{problem}; name a file of text that holds the password") from None
    registry = Registry(ca_file, named.ca_file, username, password)
    registry.authorities()
    return registry
