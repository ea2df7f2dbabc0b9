"""The same gate as for exceptions."""

from tests.api.people.excepting.conftest import admin, installation

__all__ = ["admin", "installation"]
