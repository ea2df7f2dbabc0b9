"""`sallyport policy sign`, and commands about a cluster where there is none."""

import json
import shutil
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from policies import BUILT_IN_BUNDLE
from policies.bundle.format import read_bundle
from policies.bundle.signatures import read_keys
from tests.unit.cli.conftest import Run


def keys(folder: Path) -> tuple[Path, Path]:
    """Write a private and a public key."""
    key = ed25519.Ed25519PrivateKey.generate()
    private, public = folder / "my.key", folder / "my.pem"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    shown = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    public.write_bytes(shown)
    return private, public


def test_a_signed_bundle_is_taken_by_who_has_the_key(run: Run, tmp_path: Path) -> None:
    """Under the id that was given."""
    private, public = keys(tmp_path)
    bundle = tmp_path / "b.tar.gz"
    shutil.copyfile(BUILT_IN_BUNDLE, bundle)
    command = ("policy", "sign", bundle, "--signing-key", private, "--signing-key-id", "k")
    done = run(*command)
    assert (done.code, done.out) == (0, f"{bundle}: signed\n")
    assert read_bundle(bundle, read_keys({"k": public})).signed_by == "k"
    said = json.loads(run(*command, "-o", "json").out)
    assert (said["file"], said["signed"], said["keyId"]) == (str(bundle), True, "k")
    assert said["digest"] == read_bundle(bundle).digest


def test_a_key_that_is_none_is_wrong_usage(run: Run, tmp_path: Path) -> None:
    """The bundle stays as it was."""
    bundle = tmp_path / "b.tar.gz"
    shutil.copyfile(BUILT_IN_BUNDLE, bundle)
    (tmp_path / "my.key").write_text("no key")
    done = run("policy", "sign", bundle, "--signing-key", tmp_path / "my.key")
    assert (done.code, "no private key (PEM)" in done.err) == (64, True)
    assert bundle.read_bytes() == BUILT_IN_BUNDLE.read_bytes()


def test_what_is_no_bundle_is_not_signed(run: Run, tmp_path: Path) -> None:
    """It would look like one."""
    private, _ = keys(tmp_path)
    (tmp_path / "b.tar.gz").write_text("no bundle")
    done = run("policy", "sign", tmp_path / "b.tar.gz", "--signing-key", private)
    assert (done.code, "cannot be read as a bundle" in done.err) == (2, True)


def test_what_is_not_there_is_wrong_usage(run: Run, tmp_path: Path) -> None:
    """As with each command that is given a file."""
    private, _ = keys(tmp_path)
    done = run("policy", "sign", tmp_path / "none", "--signing-key", private)
    assert (done.code, f"{tmp_path}/none: no such bundle" in done.err) == (64, True)


def test_a_folder_has_no_bundles_to_activate(run: Run, tmp_path: Path) -> None:
    """It is said what its gate follows."""
    settings = tmp_path / "s.yaml"
    settings.write_text(f"cluster: {tmp_path}\n")
    for command in (("status",), ("activate", "base"), ("rollback",)):
        done = run("policy", *command, "--config", settings)
        assert (done.code, "follows the file of --bundle" in done.err) == (64, True)
