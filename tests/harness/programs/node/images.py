"""Container images out of one static program, written as the OCI image layout in a tar file."""

import gzip
import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

BUSYBOX: Final = "sallyport.test/busybox:1"
PAUSE: Final = "sallyport.test/pause:1"
COMMANDS: Final = "awk cat dd dmesg echo id ls nc sh sleep true".split()
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


def write_images(path: Path, busybox: Path) -> None:
    """Write a tar file with both images, as `ctr images import` reads it.

    The layout: opencontainers/image-spec, image-layout.md.
    """
    layer = _layer(busybox)
    blobs: dict[str, bytes] = {}
    manifests = [
        _image(blobs, layer, name, command)
        for name, command in ((BUSYBOX, ["sh"]), (PAUSE, ["sleep", "2147483647"]))
    ]
    index = {"schemaVersion": 2, "manifests": manifests}
    files = {
        "oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
        "index.json": json.dumps(index).encode(),
        **{f"blobs/sha256/{digest}": content for digest, content in blobs.items()},
    }
    with tarfile.open(path, "w") as tar:
        for name, content in files.items():
            _add(tar, tarfile.TarInfo(name), content)


def _image(
    blobs: dict[str, bytes], layer: bytes, name: str, command: Iterable[str]
) -> dict[str, Any]:
    """Put an image's blobs to the others and return its entry of the index."""
    config = {
        "architecture": _ARCHITECTURES[platform.machine()],
        "os": "linux",
        "config": {"Cmd": list(command), "Env": ["PATH=/bin"], "User": "65532:65532"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    packed = gzip.compress(layer, mtime=0)
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": _blob(blobs, "config.v1+json", json.dumps(config).encode()),
        "layers": [_blob(blobs, "layer.v1.tar+gzip", packed)],
    }
    entry = _blob(blobs, "manifest.v1+json", json.dumps(manifest).encode())
    return {**entry, "annotations": {"io.containerd.image.name": name}}


def _blob(blobs: dict[str, bytes], kind: str, content: bytes) -> dict[str, Any]:
    """Keep content under its digest and return its descriptor."""
    digest = hashlib.sha256(content).hexdigest()
    blobs[digest] = content
    media_type = f"application/vnd.oci.image.{kind}"
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}


def _layer(busybox: Path) -> bytes:
    """Return a root with the program in /bin, under each command's name too, and /tmp."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        for folder, mode in (("bin", 0o755), ("etc", 0o755), ("proc", 0o755), ("tmp", 0o1777)):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, mode
            tar.addfile(info)
        program = tarfile.TarInfo("bin/busybox")
        program.mode = 0o755
        _add(tar, program, busybox.read_bytes())
        for command in COMMANDS:
            link = tarfile.TarInfo(f"bin/{command}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
    return held.getvalue()


def _add(tar: tarfile.TarFile, info: tarfile.TarInfo, content: bytes) -> None:
    info.size = len(content)
    tar.addfile(info, io.BytesIO(content))
