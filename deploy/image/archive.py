"""The image as an archive: the OCI image layout in a tar file (opencontainers/image-spec)."""

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from deploy.image.pack import MTIME
from deploy.image.root import USER

_MEDIA: Final = "application/vnd.oci.image"
ENTRYPOINT: Final = "/usr/local/bin/sallyport"


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """A layer as `pack.py` says it."""

    digest: str
    size: int
    diff_id: str
    unpacked: int


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """What was written."""

    digest: str
    """Of the manifest: what `image.digest` of the chart is."""
    size: int
    """Bytes of all blobs: what a node downloads."""
    unpacked: int


def write_archive(
    path: Path,
    layers: Sequence[tuple[Layer, Path, str]],
    labels: Mapping[str, str],
    created: str,
    name: str,
) -> Written:
    """Write the archive of layers (with their files, and a word each on what they hold).

    `created` is RFC 3339; `name` is the reference under which containerd imports it.
    """
    blobs: dict[str, bytes] = {each.digest: file.read_bytes() for each, file, _ in layers}
    config = _keep(blobs, "config.v1+json", _config(layers, labels, created))
    listed = [
        {"mediaType": f"{_MEDIA}.layer.v1.tar+gzip", "digest": each.digest, "size": each.size}
        for each, _, _ in layers
    ]
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{_MEDIA}.manifest.v1+json",
        "config": config,
        "layers": listed,
        "annotations": dict(labels),
    }
    entry = _keep(blobs, "manifest.v1+json", manifest)
    names = {
        "io.containerd.image.name": name,
        "org.opencontainers.image.ref.name": name.rpartition(":")[2],
    }
    index = {
        "schemaVersion": 2,
        "mediaType": f"{_MEDIA}.index.v1+json",
        "manifests": [
            {
                **entry,
                "platform": {"architecture": "amd64", "os": "linux"},
                "annotations": names,
            }
        ],
    }
    _write(
        path, {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": _json(index)}, blobs
    )
    size = sum(map(len, blobs.values()))
    return Written(
        digest=entry["digest"], size=size, unpacked=sum(each.unpacked for each, _, _ in layers)
    )


def _config(
    layers: Sequence[tuple[Layer, Path, str]], labels: Mapping[str, str], created: str
) -> dict[str, Any]:
    return {
        "created": created,
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "Entrypoint": [ENTRYPOINT],
            # HOME is where fontconfig keeps what it found, if it may write there.
            "Env": ["PATH=/usr/local/bin:/usr/bin", "HOME=/tmp", "XDG_CACHE_HOME=/tmp"],
            "WorkingDir": "/",
            "ExposedPorts": {"9080/tcp": {}, "9443/tcp": {}, "9444/tcp": {}},
            "Labels": dict(labels),
            "StopSignal": "SIGTERM",
        },
        "rootfs": {"type": "layers", "diff_ids": [each.diff_id for each, _, _ in layers]},
        "history": [{"created": created, "created_by": word} for _, _, word in layers],
    }


def _keep(blobs: dict[str, bytes], kind: str, document: Mapping[str, Any]) -> dict[str, Any]:
    content = _json(document)
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    blobs[digest] = content
    return {"mediaType": f"{_MEDIA}.{kind}", "digest": digest, "size": len(content)}


def _json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _write(path: Path, files: Mapping[str, bytes], blobs: Mapping[str, bytes]) -> None:
    named = {f"blobs/sha256/{digest[7:]}": blobs[digest] for digest in sorted(blobs)}
    with tarfile.open(path, "w") as tar:
        for folder in ("blobs", "blobs/sha256"):
            info = tarfile.TarInfo(folder)
            info.type, info.mode, info.mtime = tarfile.DIRTYPE, 0o755, MTIME
            tar.addfile(info)
        for name, content in {**files, **named}.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = len(content), 0o644, MTIME
            tar.addfile(info, io.BytesIO(content))
