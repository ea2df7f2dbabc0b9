"""The form of every part of a stored or sent document, and the versions of it that are read."""

import msgspec


class DocumentPart(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False
):
    """Frozen, camelCase, defaults left out; fields of later releases are skipped when read."""


def require_format(number: int, current: int) -> None:
    """Demand a version that this release reads: its own, the one before or the one after.

    Raises:
        ValueError: it is another one.
    """
    if not current - 1 <= number <= current + 1:
        message = f"format {number}: this release reads {current - 1} to {current + 1}"
        raise ValueError(message)
