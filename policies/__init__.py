"""Policies: the Rego, the engines that run it, and the shipped profiles."""

from pathlib import Path

_HERE = Path(__file__).parent

SHIPPED_PROFILES = _HERE / "profiles"
"""The shipped ContainerProfiles, and the grant that makes `pss-restricted` everyone's."""

BUILT_IN_REGO = _HERE / "rego"

LIBRARY = _HERE / "library"
"""Rules that a site may choose, each optional: `<category>/<name>/`."""

BUILT_IN_BUNDLE = _HERE / "compiled" / "builtin.tar.gz"
"""The built-in policies, compiled: made by `make setup`, part of the wheel and the image."""
