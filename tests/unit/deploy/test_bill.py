"""The bill of materials names all that is in the image, by the published schema."""

import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from referencing import Registry
from referencing.jsonschema import DRAFT7

from deploy.image import debian
from deploy.image.debian import LOCK, read_lock
from tests.harness.programs.availability import skip_or_fail
from tests.tools.bom_schema import bom_schemas
from tests.tools.provide import CannotProvideError
from tests.unit.deploy.conftest import Made


def test_bill_of_materials_keeps_to_the_published_schema(made: Made) -> None:
    """CycloneDX 1.6, with the lists to which it refers."""
    try:
        schemas = bom_schemas()
    except CannotProvideError as error:
        skip_or_fail(error)
    registry = Registry().with_resources(
        [(each["$id"], DRAFT7.create_resource(each)) for each in schemas]
    )
    validator = Draft7Validator(schemas[0], registry=registry)
    assert [error.message for error in validator.iter_errors(made.bill)] == []
    broken = {**made.bill, "specVersion": 7, "components": [{"type": "nothing"}]}
    assert list(validator.iter_errors(broken))


def test_bill_of_materials_names_each_package_and_wheel(made: Made) -> None:
    """With its version and its digest as they are pinned, and a licence."""
    listed = [each for each in made.bill["components"] if "hashes" in each]
    found = {(_origin(each), each["name"]): each for each in listed}
    packages = {("deb", each.name): (each.version, each.sha256) for each in read_lock()}
    locked = (made.source / "requirements" / "runtime.txt").read_text()
    pins = re.findall(r"^([a-z0-9-]+)==(\S+)", locked, re.MULTILINE)
    pinned = {("pypi", name): version for name, version in pins}
    assert {*packages, *pinned} == {each for each in found if each[1] != "sallyport"}
    assert len(listed) == len(packages) + len(pinned) + 1
    for name, (version, digest) in packages.items():
        assert (found[name]["version"], found[name]["hashes"][0]["content"]) == (version, digest)
    for name, version in pinned.items():
        assert found[name]["version"] == version
        assert f"sha256:{found[name]['hashes'][0]['content']}" in locked
    assert [name for name, each in found.items() if not each["licenses"]] == []


def _origin(component: dict[str, Any]) -> str:
    """Return where it comes from, `deb` or `pypi`: both may have something of one name."""
    return re.split("[:/]", component["purl"])[1]


def test_bill_of_materials_has_the_digest_of_the_image(made: Made) -> None:
    """The component that it describes has the digest by which the chart names the image."""
    digest = made.bill["metadata"]["component"]["hashes"][0]["content"]
    assert made.document(f"sha256:{digest}") == made.manifest


def test_a_changed_package_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not what was pinned goes into no image."""
    first = read_lock()[0]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "sallyport" / "tools" / "image-packages"
    folder.mkdir(parents=True)
    (folder / first.file).write_bytes(b"something else")
    with pytest.raises(CannotProvideError, match=f"{first.name} .* its SHA-256 is"):
        debian.fetch([first])


def test_a_broken_lock_is_refused(tmp_path: Path) -> None:
    """With the line."""
    broken = tmp_path / "debian.lock"
    broken.write_text(LOCK.read_text() + "libc6 2.36\n")
    with pytest.raises(CannotProvideError, match=r"debian.lock, line \d+: not a name"):
        read_lock(broken)
