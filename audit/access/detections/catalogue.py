"""All detections, by their numbers."""

from typing import Final

from audit.access.detections import (
    access_at_risk,
    copy_out,
    create_read_delete,
    delegation_key,
    enumeration,
    federated_credential,
    key_or_anonymous_change,
    key_or_anonymous_read,
    keys_and_logging,
    log_gap,
    mass_delete,
    new_caller,
    no_live_pod,
    object_replication,
    private_endpoint,
    protection_off,
    role_assignment,
    sftp_or_local_users,
    slow_exfiltration,
    token_two_addresses,
    ungranted,
    volume_above_baseline,
)
from audit.access.model.detection import Detection

DETECTIONS: Final[tuple[Detection, ...]] = (
    key_or_anonymous_read.DETECTION,
    volume_above_baseline.DETECTION,
    slow_exfiltration.DETECTION,
    new_caller.DETECTION,
    enumeration.DETECTION,
    create_read_delete.DETECTION,
    copy_out.DETECTION,
    no_live_pod.DETECTION,
    token_two_addresses.DETECTION,
    access_at_risk.DETECTION,
    ungranted.DETECTION,
    keys_and_logging.DETECTION,
    federated_credential.DETECTION,
    log_gap.DETECTION,
    role_assignment.DETECTION,
    private_endpoint.DETECTION,
    object_replication.DETECTION,
    delegation_key.DETECTION,
    sftp_or_local_users.DETECTION,
    protection_off.DETECTION,
    key_or_anonymous_change.DETECTION,
    mass_delete.DETECTION,
)
