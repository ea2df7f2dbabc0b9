"""The settings of egress by which a gate judges intents."""

from pathlib import Path
from typing import Final

import structlog

from app.settings.egress import Egress, enrolment_of, limits_of, ranges_of
from core.base.errors import InvalidObjectError
from core.kubernetes.workload_kinds import service_account_user
from egress.limits.settings import IntentSettings
from egress.model.facts import NO_TAGS, TagSource
from egress.service_tags import parse_service_tags

_WITHOUT_NAMES: Final = "networkpolicy"
_CONTROL: Final = "sallyport-control"
"""Its service account, in Sallyport's namespace."""

_log = structlog.get_logger(__name__)


def intent_settings_of(section: Egress, own: str) -> IntentSettings:
    """Return what intents are judged by when they are written; `own` is Sallyport's namespace.

    Raises:
        SettingsError: a network of the cluster is none.
    """
    return IntentSettings(
        limits=limits_of(section),
        tags=_tags(section.tags),
        knows_names=section.engine != _WITHOUT_NAMES,
        enrolment=enrolment_of(section, own),
        ranges=ranges_of(section),
        compares=section.engine == _WITHOUT_NAMES,
        control=service_account_user(_CONTROL, own),
    )


def _tags(path: Path | None) -> TagSource:
    """Read the file of service tags; a gate works without, and tags then count for nothing.

    The controller reads it again whenever it changes, and it alone opens anything.
    """
    if path is None:
        return NO_TAGS
    try:
        return parse_service_tags(path.read_bytes())
    except (OSError, InvalidObjectError) as error:
        said = str(error) if isinstance(error, InvalidObjectError) else type(error).__name__
        _log.error("the file of service tags cannot be read", problem=said)
        return NO_TAGS
