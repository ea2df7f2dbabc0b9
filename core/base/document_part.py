"""The form that every part of a stored or sent document has."""

import msgspec


class DocumentPart(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False
):
    """Frozen, camelCase, defaults left out; fields of later releases are skipped when read."""
