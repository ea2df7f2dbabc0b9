"""What the operator has set of egress, as its commands take it."""

import time

from msgspec import structs

from app.settings.egress import enrolment_of, limits_of, names_of, ranges_of, target_of
from app.settings.root import Settings
from core.base.errors import SettingsError
from core.people.two_person import SHARED_ACCOUNTS, ApprovalTerms
from egress.analysis.cluster_egress import EgressSettings
from egress.model.facts import NO_TAGS, TagSource
from egress.service_tags import MAX_BYTES, parse_service_tags


def site_of(settings: Settings) -> EgressSettings:
    """Give what is set, as of now; with no cluster, every namespace counts as enrolled.

    Raises:
        SettingsError: the file of tags or a range cannot be read.
        InvalidObjectError: the file is none of service tags.
    """
    section = settings.egress
    alone = settings.cluster is None and settings.kubeconfig is None
    enrolment = enrolment_of(section, settings.namespace)
    shared = frozenset(name.casefold() for name in settings.shared_accounts)
    return EgressSettings(
        now=time.time(),
        enrolment=structs.replace(enrolment, default=True) if alone else enrolment,
        target=target_of(section),
        limits=limits_of(section),
        tags=_tags(settings),
        ranges=ranges_of(section),
        names=names_of(section),
        terms=ApprovalTerms(SHARED_ACCOUNTS | shared),
    )


def _tags(settings: Settings) -> TagSource:
    """Read the file of service tags; without one, no tag is known."""
    file = settings.egress.tags
    if file is None:
        return NO_TAGS
    try:
        if file.stat().st_size > MAX_BYTES:
            raise SettingsError(f"--tags {file}: is larger than {MAX_BYTES} bytes")
        return parse_service_tags(file.read_bytes())
    except OSError as error:
        raise SettingsError(f"--tags {file}: {error.strerror}") from error
