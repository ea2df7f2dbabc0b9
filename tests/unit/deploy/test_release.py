"""A release: the same bytes from the same commit, true to its checksums, and installable."""

import base64
import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Final

import pytest
import yaml
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from deploy.image.build import Inputs
from deploy.release.build import PROVENANCE, SUMS, Release, make_release
from deploy.release.notes import notes_of
from deploy.release.provenance import PAYLOAD_TYPE, encoding, sha256
from deploy.release.signatures import read_key
from tests.harness.evidence import ROOT
from tests.harness.programs.availability import skip_or_fail
from tests.harness.programs.helm import ASKED, NAMESPACE, OPEN, Helm
from tests.harness.sizes import PROOF
from tests.tools.provide import CannotProvideError
from tests.unit.deploy.conftest import source_in

VALUES: Final = {**ASKED, **OPEN, "image": {"repository": "registry.example.org/sallyport"}}


def inputs_in(folder: Path) -> Inputs:
    """Copy what a release is made of."""
    source = source_in(folder)
    shutil.copytree(ROOT / "helm", source / "helm")
    shutil.copy(ROOT / "CHANGELOG.md", source)
    lock = Path("deploy", "image", "debian.lock")
    (source / lock).parent.mkdir(parents=True)
    shutil.copy(ROOT / lock, source / lock)
    return Inputs(source, "0" * 40, 1_700_000_000)


def key_file(folder: Path) -> Path:
    """Write a key, as `openssl` would."""
    key = ec.generate_private_key(ec.SECP256R1())
    file = folder / "release.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return file


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """A signed release."""
    folder = tmp_path_factory.mktemp("release")
    try:
        return make_release(
            inputs_in(folder / "source"), folder / "out", read_key(key_file(folder))
        )
    except CannotProvideError as error:
        skip_or_fail(error)


def run(command: str, folder: Path) -> str:
    """Run a command of docs/operate/release.md as a person does."""
    done = subprocess.run(
        ["bash", "-c", command],  # noqa: S607 -- as a person does
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_holds_what_the_page_lists(released: Release) -> None:
    """Neither more nor less."""
    assert released.files == (
        "RELEASE_NOTES.md",
        "SHA256SUMS",
        "SHA256SUMS.sig",
        "images.txt",
        "provenance.intoto.json",
        "release.pub",
        "sallyport-0.1.0.oci.tar",
        "sallyport-0.1.0.tgz",
        "sallyport-cli-0.1.0-python3.11-linux-amd64.tar.gz",
        "sallyport-crds-0.1.0.tgz",
        "sbom.json",
        "verify_export.py",
    )
    page = (ROOT / "docs" / "operate" / "release.md").read_text()
    assert all(each.replace("0.1.0", "VERSION") in page for each in released.files)
    assert (released.folder / "images.txt").read_text() == f"sallyport:0.1.0@{released.digest}\n"


def test_the_same_commit_gives_the_same_bytes(released: Release, tmp_path: Path) -> None:
    """Made again elsewhere, without a key: all but what is signed is the same."""
    again = make_release(inputs_in(tmp_path / "source"), tmp_path / "out")
    assert not again.signed
    same = set(again.files) - {SUMS, PROVENANCE}
    assert len(same) == 8
    for name in same:
        assert (again.folder / name).read_bytes() == (released.folder / name).read_bytes(), name
    signed = json.loads((released.folder / PROVENANCE).read_bytes())
    assert base64.b64decode(signed["payload"]) == (again.folder / PROVENANCE).read_bytes()


def test_openssl_and_sha256sum_find_it_whole(released: Release) -> None:
    """By the command of the page; and not once a byte of it is another."""
    page = (ROOT / "docs" / "operate" / "release.md").read_text()
    (command,) = (line.strip() for line in page.splitlines() if "sha256sum --check" in line)
    said = run(command, released.folder)
    assert "Verified OK" in said
    assert said.count(": OK") == len(released.files) - 3
    with pytest.raises(AssertionError, match="FAILED"):
        run(f"cp -r . ../other && cd ../other && echo x >> sbom.json && {command}", released.folder)


def test_provenance_is_signed_and_names_each_file(released: Release) -> None:
    """DSSE's encoding is that of its protocol.md; the digests are those of the files."""
    assert encoding("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )
    envelope = json.loads((released.folder / PROVENANCE).read_bytes())
    payload = base64.b64decode(envelope["payload"])
    key = serialization.load_pem_public_key((released.folder / "release.pub").read_bytes())
    assert isinstance(key, ec.EllipticCurvePublicKey)
    signature = base64.b64decode(envelope["signatures"][0]["sig"])
    key.verify(signature, encoding(PAYLOAD_TYPE, payload), ec.ECDSA(hashes.SHA256()))
    said = json.loads(payload)
    subjects = {each["name"]: each["digest"]["sha256"] for each in said["subject"]}
    assert subjects == {name: sha256(released.folder / name) for name in subjects}
    assert len(subjects) == len(released.files) - 4
    commit, *_ = said["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert commit["digest"] == {"gitCommit": "0" * 40}


def test_helm_takes_the_charts_with_the_images_digest(
    released: Release, helm: Helm, tmp_path: Path
) -> None:
    """Whoever installs names the repository alone; each Pod runs the image that was released."""
    values = tmp_path / "values.yaml"
    values.write_text(json.dumps({**VALUES, "defaultMode": "audit"}))
    chart = released.folder / "sallyport-0.1.0.tgz"
    rendered = helm.run(
        "template", "sallyport", chart, "--namespace", NAMESPACE, "--values", values
    )
    images = {
        container["image"]
        for item in yaml.safe_load_all(rendered)
        if item and item["kind"] in {"Deployment", "StatefulSet"}
        for container in item["spec"]["template"]["spec"]["containers"]
    }
    assert images == {f"registry.example.org/sallyport@{released.digest}"}
    assert released.digest in helm.run("show", "chart", chart)
    crds = helm.run("template", "kinds", released.folder / "sallyport-crds-0.1.0.tgz")
    assert crds.count("kind: CustomResourceDefinition") > 10


def test_the_command_line_installs_without_a_network(released: Release, tmp_path: Path) -> None:
    """Each wheel is as pinned; at full size pip installs them, and it answers."""
    (archive,) = released.folder.glob("sallyport-cli-*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    pins = (folder / "requirements.txt").read_text()
    wheels = list(folder.glob("*.whl"))
    assert len(wheels) == len(pins.splitlines()) >= 3
    assert all(sha256(each) in pins for each in wheels)
    if PROOF:
        run(f"{sys.executable} -m venv it", folder)
        run(
            "it/bin/pip install --no-index --find-links . --requirement requirements.txt",
            folder,
        )
        assert "sallyport" in run("it/bin/sallyport --help", folder)


def test_what_it_cannot_be_made_of_is_said(released: Release, tmp_path: Path) -> None:
    """A key of another kind, none, a folder that is in use, a version without notes."""
    other = tmp_path / "rsa.pem"
    other.write_bytes(
        rsa.generate_private_key(65537, 2048).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    with pytest.raises(CannotProvideError, match=r"rsa\.pem: it must be ECDSA on P-256"):
        read_key(other)
    with pytest.raises(CannotProvideError, match="No such file"):
        read_key(tmp_path / "none.pem")
    other.write_text("junk")
    with pytest.raises(CannotProvideError, match="no PEM without a password"):
        read_key(other)
    source = released.folder.parents[1] / "source"
    with pytest.raises(CannotProvideError, match="is not empty"):
        make_release(Inputs(source, "0" * 40, 0), released.folder.parent)
    assert notes_of("# C\n\n## 0.2.0 - 2026-12-01\nNew.\n\n## 0.1.0\nOld.\n", "0.1.0").endswith(
        "\nOld.\n"
    )
    with pytest.raises(CannotProvideError, match=r"says nothing of 0\.3\.0"):
        notes_of("# C\n\n## 0.2.0\nNew.\n", "0.3.0")
