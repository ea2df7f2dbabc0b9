"""The projections of objects that carry privileges and are no Pods.

Sources: k8s.io/api/{node,storage,scheduling}/v1 and resource/v1, v1beta1 types.go.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from core.base.json_errors import DECODE_ERRORS, decode_error
from core.kubernetes.persistent_volumes import PersistentVolume
from policies.projection import rbac
from policies.projection.model import (
    DeviceConfig,
    DeviceRequest,
    Object,
    Projection,
    Token,
    Toleration,
    bound,
)
from policies.projection.volumes import of_persistent


class _Struct(msgspec.Struct, frozen=True, rename="camel"):
    """camelCase on the wire."""


class _Meta(_Struct, frozen=True):
    name: str = ""


class _RuntimeClass(_Struct, frozen=True):
    metadata: _Meta = _Meta()
    handler: str = ""


class _StorageClass(_Struct, frozen=True):
    metadata: _Meta = _Meta()
    provisioner: str = ""


class _PriorityClass(_Struct, frozen=True):
    metadata: _Meta = _Meta()
    global_default: bool | None = None


class _TokenRequest(_Struct, frozen=True):
    audience: str = ""


class _DriverSpec(_Struct, frozen=True):
    token_requests: list[_TokenRequest] | None = None


class _CSIDriver(_Struct, frozen=True):
    metadata: _Meta = _Meta()
    spec: _DriverSpec = _DriverSpec()


class _Toleration(_Struct, frozen=True):
    key: str = ""
    operator: str = ""


class _Alternative(_Struct, frozen=True):
    tolerations: list[_Toleration] | None = None


class _Exactly(_Struct, frozen=True):
    admin_access: bool | None = None
    tolerations: list[_Toleration] | None = None


class _Request(_Struct, frozen=True):
    admin_access: bool | None = None
    """Where v1beta1 has it."""
    tolerations: list[_Toleration] | None = None
    """Where v1beta1 has them."""
    exactly: _Exactly | None = None
    first_available: list[_Alternative] | None = None


class _Opaque(_Struct, frozen=True):
    driver: str = ""


class _Config(_Struct, frozen=True):
    opaque: _Opaque | None = None


class _Devices(_Struct, frozen=True):
    requests: list[_Request] | None = None
    config: list[_Config] | None = None
    extended_resource_name: str | None = None
    """Of a DeviceClass."""


class _ClaimSpec(_Struct, frozen=True):
    devices: _Devices = _Devices()


class _ResourceClaim(_Struct, frozen=True):
    metadata: _Meta = _Meta()
    spec: _ClaimSpec = _ClaimSpec()


class _TemplateSpec(_Struct, frozen=True):
    spec: _ClaimSpec = _ClaimSpec()


class _ResourceClaimTemplate(_Struct, frozen=True):
    metadata: _Meta = _Meta()
    spec: _TemplateSpec = _TemplateSpec()


class _DeviceClass(_Struct, frozen=True):
    metadata: _Meta = _Meta()
    spec: _Devices = _Devices()


def _runtime_class(read: _RuntimeClass) -> Object:
    return Object("RuntimeClass", read.metadata.name, handler=read.handler)


def _storage_class(read: _StorageClass) -> Object:
    return Object("StorageClass", read.metadata.name, provisioner=read.provisioner)


def _priority_class(read: _PriorityClass) -> Object:
    is_default = bool(read.global_default)
    return Object("PriorityClass", read.metadata.name, global_default=is_default)


def _csi_driver(read: _CSIDriver) -> Object:
    asked = read.spec.token_requests or []
    bound(len(asked), "spec.tokenRequests", "CSIDriver")
    tokens = [
        Token(f"spec.tokenRequests[{index}].audience", request.audience)
        for index, request in enumerate(asked)
    ]
    return Object("CSIDriver", read.metadata.name, tokens=tokens)


def _resource_claim(read: _ResourceClaim) -> Object:
    return _of_devices("ResourceClaim", read.metadata, read.spec.devices, "spec.devices")


def _resource_claim_template(read: _ResourceClaimTemplate) -> Object:
    devices = read.spec.spec.devices
    return _of_devices("ResourceClaimTemplate", read.metadata, devices, "spec.spec.devices")


def _device_class(read: _DeviceClass) -> Object:
    return _of_devices("DeviceClass", read.metadata, read.spec, "spec")


def _of_devices(kind: str, metadata: _Meta, devices: _Devices, path: str) -> Object:
    bound(len(devices.requests or ()), f"{path}.requests", kind)
    bound(len(devices.config or ()), f"{path}.config", kind)
    return Object(
        kind,
        metadata.name,
        requests=list(_admin_requests(devices, path)),
        tolerations=list(_tolerations(devices, path, kind)),
        extended_resource=devices.extended_resource_name or "",
        configs=[
            DeviceConfig(f"{path}.config[{index}].opaque", config.opaque.driver)
            for index, config in enumerate(devices.config or ())
            if config.opaque
        ],
    )


def _admin_requests(devices: _Devices, path: str) -> Iterator[DeviceRequest]:
    for index, request in enumerate(devices.requests or ()):
        place = f"{path}.requests[{index}]"
        if request.admin_access:
            yield DeviceRequest(f"{place}.adminAccess", admin_access=True)
        if request.exactly and request.exactly.admin_access:
            yield DeviceRequest(f"{place}.exactly.adminAccess", admin_access=True)


def _tolerations(devices: _Devices, path: str, kind: str) -> Iterator[Toleration]:
    """Yield the tolerations of all requests.

    Raises:
        InvalidObjectError: there are more than any real claim has.
    """
    found = [
        each
        for index, request in enumerate(devices.requests or ())
        for each in _tolerating(request, f"{path}.requests[{index}]")
    ]
    bound(sum(len(tolerations) for _, tolerations in found), f"{path}.requests", kind)
    for place, tolerations in found:
        for index, each in enumerate(tolerations):
            yield Toleration(f"{place}[{index}]", each.key, each.operator)


def _tolerating(request: _Request, path: str) -> Iterator[tuple[str, list[_Toleration]]]:
    if request.tolerations:
        yield f"{path}.tolerations", request.tolerations
    if request.exactly and request.exactly.tolerations:
        yield f"{path}.exactly.tolerations", request.exactly.tolerations
    for index, each in enumerate(request.first_available or ()):
        if each.tolerations:
            yield f"{path}.firstAvailable[{index}].tolerations", each.tolerations


_KINDS: Final[Mapping[tuple[str, str], tuple[type[Any], Callable[[Any], Object]]]] = {
    ("node.k8s.io", "RuntimeClass"): (_RuntimeClass, _runtime_class),
    ("storage.k8s.io", "StorageClass"): (_StorageClass, _storage_class),
    ("storage.k8s.io", "CSIDriver"): (_CSIDriver, _csi_driver),
    ("scheduling.k8s.io", "PriorityClass"): (_PriorityClass, _priority_class),
    ("resource.k8s.io", "ResourceClaim"): (_ResourceClaim, _resource_claim),
    ("resource.k8s.io", "ResourceClaimTemplate"): (
        _ResourceClaimTemplate,
        _resource_claim_template,
    ),
    ("resource.k8s.io", "DeviceClass"): (_DeviceClass, _device_class),
    **rbac.KINDS,
}

OBJECT_KINDS: Final = frozenset(_KINDS)
"""Group and kind of what `project_object` reads."""


def project_object(group: str, kind: str, raw: bytes | msgspec.Raw) -> Projection:
    """Return the projection of an object of one of OBJECT_KINDS. Pure.

    Raises:
        InvalidObjectError: it does not have its kind's shape, or holds more than is judged.
    """
    shape, describe = _KINDS[group, kind]
    try:
        return Projection(containers=[], object=describe(msgspec.json.decode(raw, type=shape)))
    except DECODE_ERRORS as error:
        raise decode_error(kind, error) from error


_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
"""Annotations by which claims that name no class get this one (pkg/volume/util/storageclass.go)."""

_NO_SETTINGS: Final = frozenset({"apiVersion", "kind", "metadata", "status"})


class _Marked(_Struct, frozen=True):
    annotations: dict[str, str] | None = None


class _WithMetadata(_Struct, frozen=True):
    metadata: _Marked = _Marked()


def read_settings(group: str, kind: str, raw: bytes | msgspec.Raw) -> bytes:
    """Return, as JSON, what a class, a driver or a claim for devices says besides its name. Pure.

    Whoever makes one holds a privilege for all of it, also for what no rule reads (`fsGroupPolicy`,
    `mountOptions`, `tolerations` …), so an update of any of it is judged as the making was. Rights
    are compared by their rules: they have none here.

    Raises:
        InvalidObjectError: it does not have its kind's shape.
    """
    if (group, kind) in rbac.KINDS:
        return b""
    try:
        held = msgspec.json.decode(raw, type=dict[str, Any])
        marks = msgspec.convert(held, _WithMetadata).metadata.annotations or {}
    except DECODE_ERRORS as error:
        raise decode_error(kind, error) from error
    said = {
        **{name: value for name, value in held.items() if name not in _NO_SETTINGS},
        "metadata": {name: marks[name] for name in _DEFAULT_CLASS if name in marks},
    }
    return msgspec.json.encode(said, order="deterministic")


def project_persistent(volume: PersistentVolume, path: str) -> Projection:
    """Return the projection of a PersistentVolume, which whoever mounts it may write to.

    Raises:
        InvalidObjectError: its path is longer than any.
    """
    return Projection(containers=[], volumes=[of_persistent(volume, path, read_only=False)])
