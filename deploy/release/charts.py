"""The charts as packages that `helm install` takes, with the digest of the image in them."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import yaml

from deploy.release.archives import write_tar_gz
from tests.tools.provide import CannotProvideError

CHARTS: Final = ("sallyport", "sallyport-crds")
DIGEST_ANNOTATION: Final = "sallyport.dev/image-digest"

_DIGEST: Final = re.compile(r'(?m)^(image:\n(?:  .*\n)*?  digest: )""$')
_ANNOTATIONS: Final = re.compile(r"(?m)^annotations:\n")


def package_charts(folder: Path, output: Path, digest: str, epoch: int) -> dict[str, Path]:
    """Write each chart of a folder as NAME-VERSION.tgz; return them by name.

    The values name the image by its digest: where it lies is all that whoever installs must say.

    Raises:
        CannotProvideError: the values have no place for a digest.
    """
    return {name: _package(folder / name, output, digest, epoch) for name in CHARTS}


def _package(chart: Path, output: Path, digest: str, epoch: int) -> Path:
    files = _read(chart)
    about = yaml.safe_load(files["Chart.yaml"])
    if chart.name == "sallyport":
        files |= _with_digest(files, digest)
    path = output / f"{about['name']}-{about['version']}.tgz"
    write_tar_gz(path, {f"{about['name']}/{name}": each for name, each in files.items()}, epoch)
    return path


def _read(chart: Path) -> dict[str, bytes]:
    """Read what Helm would package: all but what `.helmignore` names, one a line."""
    ignored = chart / ".helmignore"
    lines = ignored.read_text().splitlines() if ignored.exists() else []
    patterns = [each for each in lines if each and not each.startswith("#")]
    return {
        str(path.relative_to(chart)): path.read_bytes()
        for path in sorted(chart.rglob("*"))
        if path.is_file() and not any(path.match(pattern) for pattern in patterns)
    }


def _with_digest(files: Mapping[str, bytes], digest: str) -> dict[str, bytes]:
    values, many = _DIGEST.subn(rf"\g<1>{digest}", files["values.yaml"].decode())
    if many != 1:
        raise CannotProvideError('values.yaml: there is no `digest: ""` below `image`')
    said = f"annotations:\n  {DIGEST_ANNOTATION}: {digest}\n"
    about, many = _ANNOTATIONS.subn(said, files["Chart.yaml"].decode())
    if many != 1:
        raise CannotProvideError("Chart.yaml: there are no `annotations`")
    return {"values.yaml": values.encode(), "Chart.yaml": about.encode()}
