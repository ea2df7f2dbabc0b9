"""All roles and bindings of a cluster, or of a folder of YAML, read at once."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from core.base.errors import ClusterError
from kube.client.objects import PAGE, Objects, list_objects
from kube.cluster.folder import read_rbac
from kube.rbac.authorizer import bootstrap_roles
from kube.rbac.objects import API_VERSION, Binding, Role

_ROOT: Final = f"/apis/{API_VERSION}"

_T = TypeVar("_T", Role, Binding)


@dataclass(frozen=True)
class RbacSnapshot:
    """Roles and bindings; `aggregated` names the ClusterRoles that are made of others."""

    roles: list[Role]
    bindings: list[Binding]
    aggregated: frozenset[str] = frozenset()


async def read_live_rbac(objects: Objects, page_size: int = PAGE) -> RbacSnapshot:
    """Read a cluster's, page by page: 50,000 bindings are some 40 MB.

    Aggregated ClusterRoles are taken as they are stored, since kube-apiserver does so too.

    Raises:
        ClusterError: kube-apiserver does not answer, or lets us list not all of it.
    """
    stored: list[Role] = []
    for resource, kind in (("clusterroles", "ClusterRole"), ("roles", "Role")):
        stored += await _read(objects, resource, kind, Role, page_size)
    bindings: list[Binding] = []
    for resource in ("clusterrolebindings", "rolebindings"):
        kind = "ClusterRoleBinding" if resource.startswith("cluster") else "RoleBinding"
        bindings += await _read(objects, resource, kind, Binding, page_size)
    made = frozenset(role.metadata.name for role in stored if role.aggregation_rule)
    roles = [msgspec.structs.replace(role, aggregation_rule=None) for role in stored]
    return RbacSnapshot(roles, bindings, made)


async def _read(
    objects: Objects, resource: str, kind: str, shape: type[_T], page_size: int
) -> list[_T]:
    decode = msgspec.json.Decoder(shape).decode
    path = f"{_ROOT}/{resource}"
    try:
        read = [decode(raw) async for raw in list_objects(objects, path, page_size)]
    except msgspec.DecodeError as error:
        raise ClusterError(f"GET {path}: an item is no {kind}: {error}") from None
    except ClusterError as error:
        message = (
            "every role and binding must be read: it needs the right to list clusterroles, roles, "
            f"clusterrolebindings and rolebindings in all namespaces; {error}"
        )
        raise ClusterError(message, error.status) from None
    return [msgspec.structs.replace(one, kind=kind) for one in read]


def read_folder_rbac(path: Path) -> RbacSnapshot:
    """Read a folder's, and add the ClusterRoles that every cluster has where it has no such.

    Raises:
        SettingsError: the folder does not exist or cannot be read.
        InvalidObjectError: an object is broken; the message names file, document, field.
    """
    roles, bindings = read_rbac(path)
    known = {role.metadata.name for role in roles if not role.metadata.namespace}
    missing = [role for role in bootstrap_roles() if role.metadata.name not in known]
    return RbacSnapshot([*roles, *missing], bindings)
