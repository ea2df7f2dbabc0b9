"""The same gate as for exceptions."""

from tests.api.people.exceptions.conftest import admin, installation

__all__ = ["admin", "installation"]
