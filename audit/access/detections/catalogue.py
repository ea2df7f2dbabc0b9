"""All detections, by their numbers."""

from typing import Final

from audit.access.detections.callers import (
    access_at_risk,
    missing_grant,
    new_caller,
    no_live_pod,
    refusal_burst,
    token_two_addresses,
)
from audit.access.detections.changes import (
    archive_tier,
    customer_key,
    key_or_anonymous_change,
    mass_deletion,
    weight_overwrites,
)
from audit.access.detections.credentials import (
    cluster_credential,
    custom_role,
    delegation_key,
    federated_credential,
    role_assignment,
    sftp_or_local_users,
)
from audit.access.detections.logs import gaps, target_deletion
from audit.access.detections.management import (
    data_protection,
    encryption_key,
    keys_and_logging,
    lifecycle_deletion,
    object_replication,
    other_tenant,
    private_endpoint,
    storage_deletion,
    transport_security,
)
from audit.access.detections.reads import (
    copy_out,
    create_read_delete,
    enumeration,
    key_or_anonymous_read,
    slow_exfiltration,
    snapshot_reads,
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
    missing_grant.DETECTION,
    keys_and_logging.DETECTION,
    federated_credential.DETECTION,
    gaps.DETECTION,
    role_assignment.DETECTION,
    private_endpoint.DETECTION,
    object_replication.DETECTION,
    delegation_key.DETECTION,
    sftp_or_local_users.DETECTION,
    data_protection.DETECTION,
    key_or_anonymous_change.DETECTION,
    mass_deletion.DETECTION,
    weight_overwrites.DETECTION,
    customer_key.DETECTION,
    archive_tier.DETECTION,
    refusal_burst.DETECTION,
    storage_deletion.DETECTION,
    lifecycle_deletion.DETECTION,
    encryption_key.DETECTION,
    other_tenant.DETECTION,
    transport_security.DETECTION,
    custom_role.DETECTION,
    target_deletion.DETECTION,
    cluster_credential.DETECTION,
    snapshot_reads.DETECTION,
)
