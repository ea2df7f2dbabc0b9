"""Limits on how much of something is judged: more than any real object has is refused."""

from typing import Final

from core.base.errors import InvalidObjectError

MAX_NAMES: Final = 256
"""The most capabilities, sysctls, tolerations … of one object; Linux has 41 capabilities."""

MAX_PATH: Final = 4096
"""Linux's PATH_MAX: no path of a node is longer."""


MAX_NAME: Final = 1024
"""Characters of an image's reference, and of what is remembered by name: real ones are shorter."""


MAX_CONTAINERS: Final = 1024
"""Containers of all sorts. As many minimal ones as a body may hold are forty times that, and take a
second to project."""


def bound(count: int, field: str, kind: str = "Pod", most: int = MAX_NAMES) -> None:
    """Raise InvalidObjectError if a field holds more than is judged."""
    if count > most:
        message = f"holds {count}; more than {most} are not judged"
        raise InvalidObjectError(kind, field, message)


def check_length(text: str, field: str, kind: str = "Pod") -> None:
    """Raise InvalidObjectError if a text is longer than any of its sort."""
    if len(text) > MAX_NAME:
        message = f"is {len(text)} characters long; more than {MAX_NAME} are not judged"
        raise InvalidObjectError(kind, field, message)
