"""Stories of credentials, keys, roles and users that let somebody in."""

from collections.abc import Sequence
from typing import Any, Final

from audit.access.model.detection import Event
from core.weights.documents.access import Act, Caller, SignedBy
from core.weights.documents.events import Severity, Topic
from tests.unit.audit.access.detections.events import (
    ANN,
    BOB,
    OWN_SUBSCRIPTION,
    SHARD,
    access,
    activity,
    at,
)
from tests.unit.audit.access.detections.examples import fires, quiet
from tests.unit.audit.access.detections.management_records import (
    GROUP,
    PROVIDERS,
    STORAGE,
    TERRAFORM,
    changed,
    logged,
    twice_a_day,
)

LOW, MEDIUM, HIGH, CRITICAL = Severity


def key_issued(day: float, principal: str = BOB) -> Event:
    """Make a request for a user delegation key."""
    told = {"operation": "GetUserDelegationKey", "act": Act.POLICY, "container": "", "blob": ""}
    return access(at(day), principal=principal, bytes_out=0, **told)


SAS = {"signed_by": SignedBy.DELEGATION_SAS, "principal": "", "delegator": BOB}

fires("delegation-key", "to somebody", lambda: [key_issued(1), key_issued(1.1)], HIGH)
fires("delegation-key", "to who is listed", lambda: [key_issued(1, ANN)], MEDIUM)
fires(
    "delegation-key",
    "told by both logs",
    lambda: [key_issued(1), activity(at(1, 1), Topic.DELEGATION_KEY_ISSUED)],
    HIGH,
)
fires(
    "delegation-key",
    "used from the internet",
    lambda: [access(at(1), caller=Caller.PUBLIC, bytes_out=SHARD, **SAS)],
    HIGH,
)
fires(
    "delegation-key",
    "by a service, until it is one",
    lambda: [key_issued(day, ANN) for day in range(1, 30)],
    MEDIUM,
    MEDIUM,
    MEDIUM,
)
quiet("delegation-key", "used inside", lambda: [access(at(1), **SAS)])

EAST = "https://oidc.example/east"


def trusted(day: float, subject: str, issuer: str = EAST, name: str = "c", **over: Any) -> Event:
    """Make a write of a federated credential."""
    facts = {"issuer": issuer, "subject": subject, "credential": name, **over}
    told = {"account": "", "store": "", "resource": f"/identities/train/{name}"}
    return activity(at(day), Topic.FEDERATED_CREDENTIAL, facts=facts, **told)


TRAIN, OTHER = "system:serviceaccount:research:train", "system:serviceaccount:default:web"

fires("federated-credential", "the first issuer", lambda: [trusted(1, TRAIN)], HIGH)
fires(
    "federated-credential",
    "another issuer",
    lambda: [trusted(1, TRAIN), trusted(2, TRAIN, "https://attacker.example")],
    HIGH,
    HIGH,
)
fires(
    "federated-credential",
    "another service account",
    lambda: [trusted(1, TRAIN), trusted(2, OTHER)],
    HIGH,
    MEDIUM,
)
fires(
    "federated-credential",
    "a new identity in place of an old one",
    lambda: [trusted(1, TRAIN), trusted(2, TRAIN, name="green")],
    HIGH,
    LOW,
)
quiet(
    "federated-credential",
    "deleted",
    lambda: [trusted(1, "", change="delete")],
)

GROUP_SCOPE = f"/subscriptions/{OWN_SUBSCRIPTION}/resourcegroups/weights"
READER = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"


def assigned(principal: str, scope: str = GROUP_SCOPE, role: str = READER, **over: Any) -> Event:
    """Make a role assignment."""
    facts = {"principalId": principal, "scope": scope, "roleDefinitionId": role, **over}
    return activity(at(1), Topic.ROLE_ASSIGNMENT, facts=facts, account="", store="")


fires("role-assignment", "to somebody", lambda: [assigned(BOB)], HIGH)
fires("role-assignment", "to who is listed", lambda: [assigned(ANN)], LOW)
fires("role-assignment", "a role of one's own", lambda: [assigned(BOB, role="custom")], MEDIUM)
fires(
    "role-assignment",
    "in the subscription",
    lambda: [assigned(BOB, f"/subscriptions/{OWN_SUBSCRIPTION}")],
    HIGH,
)
fires(
    "role-assignment",
    "the role of Defender's scanner to somebody",
    lambda: [assigned(BOB, role="1e7ca9b1-60d1-4db8-a914-f2ca1ff27c40")],
    HIGH,
)
quiet("role-assignment", "in another group", lambda: [assigned(BOB, f"{GROUP_SCOPE}-of-others")])
quiet("role-assignment", "taken away", lambda: [assigned(BOB, change="delete")])
quiet(
    "role-assignment",
    "to look at settings",
    lambda: [assigned(BOB, role="acdd72a7-3385-48ef-bd42-f606fba81ae7")],
)

SFTP = Topic.SFTP_OR_LOCAL_USERS

fires("sftp-or-local-users", "SFTP", lambda: [changed(SFTP, sftp=True)], HIGH)
fires("sftp-or-local-users", "a local user", lambda: [changed(SFTP, user="user:1")], HIGH)
quiet("sftp-or-local-users", "switched off", lambda: [changed(SFTP, sftp=False)])
quiet("sftp-or-local-users", "deleted", lambda: [changed(SFTP, user="u", change="delete")])

ROLES: Final = "Microsoft.Authorization/roleDefinitions"
BLOBS: Final = f"{STORAGE}/blobServices/containers/blobs"
ROLE: Final = "custom-role"


def allowed(
    *data: str,
    but: Sequence[str] = (),
    actions: Sequence[str] = (),
    day: float = 1,
    at_: str = GROUP,
) -> Sequence[Event]:
    """Write a custom role: "Role Definitions - Create Or Update"."""
    permissions = {
        "actions": list(actions),
        "notActions": [],
        "dataActions": list(data),
        "notDataActions": list(but),
    }
    body = {
        "name": BOB,
        "properties": {
            "roleName": "tidy",
            "type": "CustomRole",
            "assignableScopes": [at_],
            "permissions": [permissions],
        },
    }
    resource = f"/subscriptions/{OWN_SUBSCRIPTION}/providers/{ROLES}/{BOB}"
    return logged(f"{ROLES}/write", resource, body, day=day)


ELEVATE: Final = "Microsoft.Authorization/elevateAccess/action"
TENANT_ROOT: Final = "/providers/Microsoft.Authorization"

fires(ROLE, "all of storage", lambda: allowed("Microsoft.Storage/*"), HIGH)
fires(ROLE, "reads", lambda: allowed(f"{BLOBS}/read"), HIGH)
fires(ROLE, "an odd pattern", lambda: allowed("*/blobs/*"), HIGH)
fires(ROLE, "all but deletes", lambda: allowed("*", but=[f"{BLOBS}/delete"]), HIGH)
fires(ROLE, "keys", lambda: allowed(actions=[f"{STORAGE}/listKeys/action"]), MEDIUM)
fires(
    ROLE,
    "deletes added",
    lambda: [*allowed(f"{BLOBS}/read"), *allowed(f"{BLOBS}/read", f"{BLOBS}/delete", day=2)],
    HIGH,
    HIGH,
)
fires(ROLE, "not told", lambda: logged(f"{ROLES}/write", f"{GROUP}/providers/{ROLES}/x"), MEDIUM)
fires(ROLE, "elevated", lambda: logged(ELEVATE, TENANT_ROOT), HIGH)
fires(ROLE, "refused", lambda: logged(ELEVATE, TENANT_ROOT, result="Failure"), MEDIUM)
quiet(ROLE, "machines", lambda: allowed("Microsoft.Compute/virtualMachines/login/action"))
quiet(ROLE, "taken out again", lambda: allowed("*", but=["Microsoft.Storage/*"]))
quiet(ROLE, "elsewhere", lambda: allowed("*", at_=f"{GROUP}-of-others"))
quiet(ROLE, "deleted", lambda: logged(f"{ROLES}/delete", f"{GROUP}/providers/{ROLES}/x"))

fires(
    "role-assignment",
    "at the root of the tenant",
    lambda: logged(
        "Microsoft.Authorization/roleAssignments/write",
        f"{TENANT_ROOT}/roleAssignments/x",
        {
            "properties": {
                "principalId": BOB,
                "roleDefinitionId": f"{TENANT_ROOT}/roleDefinitions/"
                "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9",
            }
        },
    ),
    HIGH,
)

AKS: Final = "Microsoft.ContainerService/managedClusters"
CLUSTER: Final = f"{PROVIDERS}/{AKS}/train"
CREDENTIAL: Final = "cluster-credential"
LIST_ADMIN: Final = f"{AKS}/listClusterAdminCredential/action"
LIST_PROFILE: Final = f"{AKS}/accessProfiles/listCredential/action"


fires(CREDENTIAL, "the administrator's", lambda: logged(LIST_ADMIN, CLUSTER), HIGH)
fires(
    CREDENTIAL,
    "the old way",
    lambda: logged(LIST_PROFILE, f"{CLUSTER}/accessProfiles/clusterAdmin"),
    HIGH,
)
fires(CREDENTIAL, "a command", lambda: logged(f"{AKS}/runCommand/action", CLUSTER), HIGH)
fires(CREDENTIAL, "failed", lambda: logged(LIST_ADMIN, CLUSTER, result="Failure"), LOW)
fires(
    CREDENTIAL,
    "Terraform, and then its secret from elsewhere",
    lambda: [
        *twice_a_day(LIST_ADMIN, CLUSTER, 3),
        *logged(LIST_ADMIN, CLUSTER, day=4, who=TERRAFORM, callerIpAddress="192.0.2.77"),
    ],
    HIGH,
    LOW,
    LOW,
    HIGH,
)
quiet(
    CREDENTIAL,
    "a user's",
    lambda: [
        *logged(f"{AKS}/listClusterUserCredential/action", CLUSTER),
        *logged(LIST_PROFILE, f"{CLUSTER}/accessProfiles/clusterUser"),
    ],
)
