"""When a bundle was built: said in what is signed, and the same for the same sources."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.policy.shared.build_time import built_at
from core.base.errors import BundleRefusedError, SettingsError
from policies.bundle.format import pack, parse_bundle, read_bundle, unpack
from policies.bundle.signatures import read_keys
from tests.harness.worlds.policy_bundles import retitled
from tests.tools.provide import provide
from tests.unit.cli.conftest import Run
from tests.unit.cli.policy.author_folder import FILES
from tests.unit.cli.policy.test_policy_sign import keys
from tests.unit.policies.bundles import write_rego

COMMITTED, GIVEN = 1_780_000_000, 1_781_000_000


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of rules that no repository holds."""
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    return write_rego(tmp_path / "site" / "acme", FILES)


def commit(folder: Path, seconds: int = COMMITTED) -> None:
    """Put a folder into a repository of its own."""
    me = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    when = {"GIT_COMMITTER_DATE": f"@{seconds} +0000", "GIT_AUTHOR_DATE": "@1 +0000"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    for command in (["init", "-q"], ["add", "."], [*me, "commit", "-q", "-m", "a"]):
        subprocess.run(
            ["git", *command],  # noqa: S607 (the person's git)
            cwd=folder,
            check=True,
            env=kept | when,
        )


def made(run: Run, site: Path, *flags: str | Path) -> tuple[Path, dict[str, Any], str]:
    """Build a bundle; give its file, what was said of it, and standard error."""
    file = site.parents[1] / "b.tar.gz"
    command = ("policy", "build", "--site", site, "--output", file, "--opa", provide("opa"))
    done = run(*command, *flags, "-o", "json")
    assert done.code == 0, done.err
    return file, json.loads(done.out), done.err


def test_the_commit_that_is_checked_out_says_it(run: Run, site: Path) -> None:
    """So who builds it later, and elsewhere, makes the same bytes."""
    commit(site.parent)
    file, said, _ = made(run, site)
    assert read_bundle(file).built_at == COMMITTED
    assert said["builtAt"] == "2026-05-28T20:26:40Z"
    first = file.read_bytes()
    made(run, site)
    assert file.read_bytes() == first


def test_the_flag_and_the_variable_say_it(
    run: Run, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the commit, and the flag before both; what judges is the same."""
    commit(site.parent)
    revisions = {made(run, site)[1]["revision"]}
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(GIVEN))
    file, said, _ = made(run, site)
    assert read_bundle(file).built_at == GIVEN
    revisions.add(said["revision"])
    file, said, _ = made(run, site, "--built-at", "7")
    assert read_bundle(file).built_at == 7
    assert {said["revision"], *revisions} == {said["revision"]}


@pytest.mark.parametrize("given", ["99999999999", "-1", "1781000000000"])
def test_a_time_ahead_is_wrong_usage(run: Run, site: Path, tmp_path: Path, given: str) -> None:
    """Also one in milliseconds: nothing that is built today would be taken after it."""
    file = tmp_path / "b.tar.gz"
    command = ("policy", "build", "--site", site, "--output", file, "--opa", provide("opa"))
    done = run(*command, f"--built-at={given}")
    assert (done.code, file.exists()) == (64, False)
    assert f"--built-at: {given}: give Unix seconds of a time that is not ahead" in done.err


def test_a_variable_that_is_no_number_is_wrong_usage(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said which."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "today")
    with pytest.raises(SettingsError, match="SOURCE_DATE_EPOCH: 'today': give Unix seconds"):
        built_at(None, [site])


def test_of_several_repositories_the_latest_counts(site: Path, tmp_path: Path) -> None:
    """The rules may lie in one, what is chosen of them in another."""
    choices = write_rego(tmp_path / "choices", {"rules.yaml": "rules: {}\n"})
    commit(site.parent)
    commit(choices, COMMITTED + 5)
    assert built_at(None, [site, choices / "rules.yaml"]) == COMMITTED + 5
    assert built_at(None, []) == 0


def test_signing_without_a_build_time_warns(run: Run, site: Path, tmp_path: Path) -> None:
    """`control` could not tell which of two is the older."""
    private, _ = keys(tmp_path)
    assert "does not say when" not in made(run, site)[2]
    file, said, told = made(run, site, "--signing-key", private)
    assert "it does not say when it was built" in told
    assert (said["builtAt"], read_bundle(file).built_at) == ("", 0)
    done = run("policy", "sign", file, "--signing-key", private)
    assert (done.code, "build it with --built-at" in done.err) == (0, True)


def test_the_signature_covers_it(run: Run, site: Path, tmp_path: Path) -> None:
    """Who has no key cannot make an old bundle a new one."""
    private, public = keys(tmp_path)
    file, _, told = made(run, site, "--built-at", str(GIVEN), "--signing-key", private)
    assert "does not say when" not in told
    known = read_keys({"k": public})
    assert read_bundle(file, known).built_at == GIVEN
    files = unpack(file.read_bytes(), "b")
    other = files[".manifest"].replace(str(GIVEN).encode(), str(GIVEN + 1).encode())
    assert other != files[".manifest"]
    with pytest.raises(BundleRefusedError, match=r"\.manifest is not what was signed"):
        parse_bundle(pack(files | {".manifest": other}), "b", known)


@pytest.mark.parametrize("value", [-1, 10**12, "1", 1.5, 10**30])
def test_what_is_no_time_is_refused(value: object) -> None:
    """In a bundle that somebody else has made."""
    files = unpack(retitled(1), "b")
    manifest = msgspec.json.decode(files[".manifest"])
    manifest["metadata"]["sallyport"]["builtAt"] = value
    with pytest.raises(BundleRefusedError, match=r"\.manifest: .*builtAt"):
        parse_bundle(pack(files | {".manifest": json.dumps(manifest).encode()}), "b")
