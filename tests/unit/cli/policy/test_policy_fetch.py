"""`sallyport policy fetch`: what is wrong is said by the flag that said it."""

from pathlib import Path

import pytest

from tests.harness.programs.ports import free_ports
from tests.unit.cli.conftest import Done, Run

DIGEST = f"sha256:{64 * 'a'}"


def fetch(run: Run, folder: Path, *flags: object, image: str = f"r.example/a@{DIGEST}") -> Done:
    """Run it; nothing may be written, since nothing is fetched."""
    output = folder / "b.tar.gz"
    done = run("policy", "fetch", image, "--output", output, *flags)
    assert (done.out, output.exists()) == ("", False)
    return done


@pytest.mark.parametrize("content", [None, b"\xff\xfe"], ids=["missing", "no text"])
def test_a_password_that_cannot_be_read_is_wrong_usage(
    run: Run, tmp_path: Path, content: bytes | None
) -> None:
    """With the flag, the file and what to do."""
    file = tmp_path / "password"
    if content is not None:
        file.write_bytes(content)
    done = fetch(run, tmp_path, "--username", "robot", "--password-file", file)
    assert done.code == 64
    said = " ".join(done.err.split())
    assert f"--password-file: {file} cannot be read" in said
    assert "name a file of text that holds the password" in said


def test_a_password_is_somebodys(run: Run, tmp_path: Path) -> None:
    """Without a user it would be left out, unsaid."""
    (tmp_path / "password").write_text("secret")
    done = fetch(run, tmp_path, "--password-file", tmp_path / "password")
    assert (done.code, "--username: missing" in done.err) == (64, True)


def test_a_ca_that_is_none_is_wrong_usage(run: Run, tmp_path: Path) -> None:
    """Before anybody is asked."""
    (tmp_path / "ca.crt").write_text("no CA")
    done = fetch(run, tmp_path, "--ca-file", tmp_path / "ca.crt")
    assert (done.code, "--ca-file: " in done.err) == (64, True)


def test_an_image_by_a_tag_is_wrong_usage(run: Run, tmp_path: Path) -> None:
    """What a tag leads to may change between two looks."""
    done = fetch(run, tmp_path, image="r.example/a:stable")
    assert (done.code, "IMAGE: r.example/a:stable: name an" in done.err) == (64, True)


def test_a_registry_that_is_away_gives_nothing(run: Run, tmp_path: Path) -> None:
    """It is no wrong usage, and no bundle was refused."""
    (port,) = free_ports(1)
    done = fetch(run, tmp_path, image=f"127.0.0.1:{port}/a@{DIGEST}")
    assert (done.code, "the registry does not answer" in " ".join(done.err.split())) == (2, True)
