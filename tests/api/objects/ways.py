"""Ways to a device, a token, a node or a name that skip the field one would look at."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tests.api.objects.pods import DIGEST, REGISTRY, add_volume
from tests.harness.programs.client import Json

AUDIENCE: Final = "https://vault.example.com"
API_SERVER: Final = "https://kubernetes.default.svc"


@dataclass(frozen=True)
class Way:
    """One change to a Pod and one of its containers, and the privileges that it takes."""

    name: str
    change: Callable[[Json, Json], None]
    privileges: tuple[str, ...]
    baseline: bool = False
    """Whether the profile `baseline` covers it."""
    anywhere: bool = False
    """Whether an init container and an ephemeral one can go it as well."""


def _env(**fields: Any) -> Callable[[Json, Json], None]:
    def change(_: Json, container: Json) -> None:
        entry = {"name": "NVIDIA_VISIBLE_DEVICES", **fields}
        container["env"] = [{"name": "ALL", "value": "all"}, entry]

    return change


def _image(reference: str) -> Callable[[Json, Json], None]:
    def change(_: Json, container: Json) -> None:
        container["image"] = reference

    return change


def _spec(**fields: Any) -> Callable[[Json, Json], None]:
    def change(pod: Json, _: Json) -> None:
        pod["spec"].update(fields)

    return change


def _projected(**source: Any) -> Callable[[Json, Json], None]:
    return _volume(projected={"sources": [source]})


def _volume(**source: Any) -> Callable[[Json, Json], None]:
    def change(pod: Json, container: Json) -> None:
        name = add_volume(pod, source)
        container["volumeMounts"] = [{"name": name, "mountPath": "/mnt"}]

    return change


def _device_mount(path: str) -> Callable[[Json, Json], None]:
    def change(pod: Json, container: Json) -> None:
        name = add_volume(pod, {"emptyDir": {}})
        container["volumeMounts"] = [{"name": name, "mountPath": path}]

    return change


def _block(pod: Json, container: Json) -> None:
    name = add_volume(pod, {"persistentVolumeClaim": {"claimName": "raw"}})
    container["volumeDevices"] = [{"name": name, "devicePath": "/dev/sda"}]


def _annotated(key: str, value: str) -> Callable[[Json, Json], None]:
    def change(pod: Json, _: Json) -> None:
        pod["metadata"]["annotations"] = {key: value}

    return change


def _limit(quantity: str) -> Callable[[Json, Json], None]:
    def change(_: Json, container: Json) -> None:
        container["resources"] = {"limits": {"memory": quantity}}

    return change


_BY_VARIABLE: Final = ("gpu/env/NVIDIA_VISIBLE_DEVICES",)
_PINNED_ELSEWHERE: Final = f"other.example.net/weights@{DIGEST}"
_ELSEWHERE: Final = ("image/from/other.example.net/weights",)
_MOUNTS: Final = "/run/nvidia-container-devices"
_MASTER: Final = {"key": "node-role.kubernetes.io/master", "operator": "Exists"}

WAYS: Final = (
    Way("gpus-by-variable", _env(value="all"), _BY_VARIABLE, anywhere=True),
    Way("gpus-by-expanded-variable", _env(value="$(ALL)"), _BY_VARIABLE, anywhere=True),
    Way(
        "gpus-by-config-map",
        _env(valueFrom={"configMapKeyRef": {"name": "gpus", "key": "all"}}),
        _BY_VARIABLE,
        anywhere=True,
    ),
    Way(
        "gpus-by-secret",
        _env(valueFrom={"secretKeyRef": {"name": "gpus", "key": "all"}}),
        _BY_VARIABLE,
        anywhere=True,
    ),
    Way(
        "gpus-by-field",
        _env(valueFrom={"fieldRef": {"fieldPath": "metadata.annotations['gpus']"}}),
        _BY_VARIABLE,
        anywhere=True,
    ),
    Way(
        "gpu-partitions",
        _env(name="NVIDIA_MIG_CONFIG_DEVICES", value="all"),
        ("gpu/env/NVIDIA_MIG_CONFIG_DEVICES",),
        anywhere=True,
    ),
    Way(
        "gpus-as-for-old-images",
        _env(name="CUDA_VERSION", value="9.0"),
        ("gpu/env/CUDA_VERSION",),
        anywhere=True,
    ),
    Way("gpus-by-mount", _device_mount(f"/var{_MOUNTS}/all"), ("gpu/mount",)),
    Way("gpus-by-shorter-mount", _device_mount(f"{_MOUNTS}/cdi/nvidia.com/gpu/0"), ("gpu/mount",)),
    Way("raw-block-device", _block, ("volume/block",)),
    Way(
        "csi-volume-in-the-pod",
        _volume(csi={"driver": "host.example.com", "volumeAttributes": {"path": "/"}}),
        ("volume/csi/host.example.com",),
    ),
    Way(
        "token-for-others",
        _projected(serviceAccountToken={"path": "t", "audience": AUDIENCE}),
        ("token/audience/https:%2F%2Fvault.example.com",),
    ),
    Way(
        "token-by-the-servers-name",
        _projected(serviceAccountToken={"path": "t", "audience": API_SERVER}),
        ("token/audience/https:%2F%2Fkubernetes.default.svc",),
    ),
    Way(
        "token-by-hand",
        _projected(serviceAccountToken={"path": "t"}),
        ("token/automount",),
        baseline=True,
    ),
    Way(
        "certificate",
        _projected(
            podCertificate={
                "signerName": "example.com/nodes",
                "keyType": "ED25519",
                "credentialBundlePath": "pod.pem",
            }
        ),
        ("token/certificate/example.com%2Fnodes",),
    ),
    Way("image-from-elsewhere", _image(_PINNED_ELSEWHERE), _ELSEWHERE, anywhere=True),
    Way(
        "image-volume-from-elsewhere",
        _volume(image={"reference": _PINNED_ELSEWHERE}),
        _ELSEWHERE,
    ),
    Way(
        "image-volume-that-moves",
        _volume(image={"reference": f"{REGISTRY}/weights:latest"}),
        ("image/unpinned",),
        baseline=True,
    ),
    Way(
        "tag-that-looks-like-a-digest",
        _image(f"{REGISTRY}/trainer:{DIGEST.replace(':', '-')}"),
        ("image/unpinned",),
        baseline=True,
        anywhere=True,
    ),
    Way("node-by-name", _spec(nodeName="gpu-node-1"), ("scheduling/node-name",)),
    Way(
        "every-taint",
        _spec(tolerations=[{"operator": "Exists"}]),
        ("scheduling/tolerate/everything",),
    ),
    Way(
        "every-taint-that-evicts",
        _spec(tolerations=[{"operator": "Exists", "effect": "NoExecute"}]),
        ("scheduling/tolerate/everything",),
    ),
    Way(
        "control-plane-by-its-old-name",
        _spec(tolerations=[_MASTER]),
        ("scheduling/tolerate/node-role.kubernetes.io%2Fmaster",),
    ),
    Way(
        "first-on-the-node",
        _spec(priorityClassName="system-node-critical"),
        ("scheduling/priority/system-node-critical",),
    ),
    Way(
        "neighbours-processes",
        _spec(shareProcessNamespace=True),
        ("process-namespace/shared",),
        baseline=True,
    ),
    Way(
        "another-resolver",
        _spec(dnsPolicy="None", dnsConfig={"nameservers": ["192.0.2.53"]}),
        ("dns/policy/None", "dns/nameserver/192.0.2.53"),
    ),
    Way(
        "one-more-resolver",
        _spec(dnsConfig={"nameservers": ["192.0.2.53"]}),
        ("dns/nameserver/192.0.2.53",),
    ),
    Way(
        "a-name-of-ones-own",
        _spec(hostAliases=[{"ip": "192.0.2.1", "hostnames": ["login.example.com"]}]),
        ("dns/host-alias/login.example.com",),
    ),
    Way("limit-of-zero", _limit("0"), ("limits/unset/memory",), baseline=True),
    Way("limit-of-zero-spelled-long", _limit("0.0Gi"), ("limits/unset/memory",), baseline=True),
    Way(
        "seccomp-for-older-nodes",
        # Of the Pod the API compares it with the field; of a container without a field, not.
        _annotated("container.seccomp.security.alpha.kubernetes.io/main", "unconfined"),
        ("annotation/seccomp",),
    ),
    Way(
        "critical-for-older-nodes",
        _annotated("scheduler.alpha.kubernetes.io/critical-pod", ""),
        ("annotation/critical-pod",),
    ),
)
"""Each is refused to whoever has `restricted` alone, and takes these privileges and no others."""
