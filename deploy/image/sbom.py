"""The bill of materials: CycloneDX 1.6 as JSON (cyclonedx.org, bom-1.6.schema.json)."""

import json
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from deploy.image.debian import RELEASE, Package
from deploy.image.wheels import Wheel

_SPACE: Final = uuid.UUID("6e1f7f5c-3f3b-5c57-9b6e-5a11f0a7c0de")
_COMMON: Final = re.compile(r"/usr/share/common-licenses/([A-Za-z0-9.+-]*[A-Za-z0-9+])")
_FIELD: Final = re.compile(r"^License:[ \t]*(\S[^\n]*)$", re.MULTILINE)
_NO_LICENCE: Final = frozenset({"UNKNOWN", ""})


def bill(
    packages: Sequence[Package],
    wheels: Iterable[Wheel],
    root: Path,
    image: Mapping[str, str],
) -> str:
    """Return the document for what is in the image.

    `root` holds the packages' copyrights; `image` the image's version, digest and time of making.
    """
    digest = image["digest"].removeprefix("sha256:")
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_SPACE, image['digest'])}",
        "version": 1,
        "metadata": {
            "timestamp": image["created"],
            "component": {
                "type": "container",
                "bom-ref": "sallyport-image",
                "name": "sallyport",
                "version": image["version"],
                "purl": f"pkg:oci/sallyport@{quote(image['digest'], safe='')}?arch=amd64",
                "hashes": [{"alg": "SHA-256", "content": digest}],
            },
        },
        "components": [_distribution(root)]
        + [_package(each, root) for each in packages]
        + [_wheel(each) for each in wheels],
    }
    return json.dumps(document, indent=2) + "\n"


def _distribution(root: Path) -> dict[str, Any]:
    lines = (root / "usr/lib/os-release").read_text().splitlines()
    said = {key: value.strip('"') for key, _, value in (line.partition("=") for line in lines)}
    return {
        "type": "operating-system",
        "bom-ref": RELEASE,
        "name": said["ID"],
        "version": said["VERSION_ID"],
    }


def _package(package: Package, root: Path) -> dict[str, Any]:
    version = quote(package.version, safe="")
    purl = (
        f"pkg:deb/debian/{quote(package.name)}@{version}"
        f"?arch={package.architecture}&distro={RELEASE}"
    )
    copyrights = root / "usr/share/doc" / package.name / "copyright"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": package.name,
        "version": package.version,
        "hashes": [{"alg": "SHA-256", "content": package.sha256}],
        "licenses": [{"license": {"name": name}} for name in debian_licences(copyrights)],
        "purl": purl,
    }


def debian_licences(copyrights: Path) -> list[str]:
    """Return the licences that a package's copyright file names, in Debian's words.

    Machine-readable ones say `License:`; others refer to Debian's common licences; where neither
    is found, the file itself is named.
    """
    text = copyrights.read_text(errors="replace")
    found = {each.strip() for each in _FIELD.findall(text)} if "Format:" in text else set()
    found = found or set(_COMMON.findall(text))
    return sorted(found) or [f"see /usr/share/doc/{copyrights.parent.name}/copyright"]


def _wheel(wheel: Wheel) -> dict[str, Any]:
    own = wheel.name == "sallyport"
    purl = f"pkg:{'generic' if own else 'pypi'}/{wheel.name}@{quote(wheel.version, safe='')}"
    return {
        "type": "application" if own else "library",
        "bom-ref": purl,
        "name": wheel.name,
        "version": wheel.version,
        "hashes": [{"alg": "SHA-256", "content": wheel.sha256}],
        "licenses": wheel_licences(wheel),
        "purl": purl,
    }


def wheel_licences(wheel: Wheel) -> list[dict[str, Any]]:
    """Return the licence that a wheel states: an SPDX expression, words, or classifiers."""
    if expression := wheel.metadata["License-Expression"]:
        return [{"expression": str(expression)}]
    classified = [
        str(each).rpartition(" :: ")[2]
        for each in wheel.metadata.get_all("Classifier") or ()
        if str(each).startswith("License :: ")
    ]
    words = str(wheel.metadata["License"] or "").strip().splitlines()
    names = classified or words[:1]
    known = [each for each in names if each not in _NO_LICENCE]
    return [{"license": {"name": each}} for each in known or ["not stated"]]
