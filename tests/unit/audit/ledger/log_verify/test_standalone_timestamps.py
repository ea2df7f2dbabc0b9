"""The verifier that stands alone takes timestamps of heads, which a real authority made."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path

import pytest

from audit.ledger.log.heads import TreeHead
from audit.ledger.log.timestamps import encode_timestamp, make_query
from tests.unit.audit.clients.openssl_authority import OpensslAuthority
from tests.unit.audit.ledger.log_verify.edited_exports import AT
from tests.unit.audit.ledger.log_verify.honest_log import (
    EVERY,
    KEY,
    OTHER_KEY,
    RECORDS,
    Scene,
    records,
)
from tests.unit.audit.ledger.log_verify.test_standalone_verifier import (
    MAIN,
    write_export,
    write_key,
)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> OpensslAuthority:
    """An authority with a sound certificate."""
    return OpensslAuthority(tmp_path_factory.mktemp("tsa"))


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """The honest export."""
    return write_export(tmp_path / "export", Scene().lines())


def stamp(authority: OpensslAuthority, head: TreeHead, of: TreeHead | None = None) -> bytes:
    """Return the line of a head with a timestamp of it, or of another one."""
    return encode_timestamp(head, authority.reply(make_query(of or head).content))


def flags(folder: Path, authority: OpensslAuthority, lines: Iterable[bytes]) -> list[str]:
    """Return what makes the script read timestamps; the key is that of the honest log."""
    stamps = write_export(folder / "timestamps.jsonl", list(lines))
    key = write_key(folder / "key.pem", KEY)
    return ["--timestamps", str(stamps), "--tsa-ca", str(authority.ca), "--key", str(key)]


def test_what_was_timestamped_is_sound(
    export: Path, tmp_path: Path, authority: OpensslAuthority, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line that a crash cut short is left out, as by `sallyport ledger verify`."""
    heads = Scene().heads()
    stamps = [stamp(authority, heads[EVERY]), stamp(authority, heads[RECORDS])]
    given = flags(tmp_path, authority, [*stamps, stamps[0][:-20]])
    assert MAIN([str(export), *given]) == 0
    assert capsys.readouterr().out.startswith("Sound: ")


def test_a_log_that_was_written_anew_with_its_key_is_not_sound(
    tmp_path: Path, authority: OpensslAuthority, capsys: pytest.CaptureFixture[str]
) -> None:
    """The key alone would believe it: whoever holds it signs the heads again."""
    changed = [dataclasses.replace(each) for each in records()]
    changed[AT] = dataclasses.replace(changed[AT], payload=b"{}")
    anew = str(write_export(tmp_path / "anew", Scene(changed).lines()))
    given = flags(tmp_path, authority, [stamp(authority, Scene().heads()[RECORDS])])
    assert MAIN([anew, *given[-2:]]) == 0
    capsys.readouterr()
    assert MAIN([anew, *given]) == 1
    assert "not those that you noted" in capsys.readouterr().out


def test_a_log_that_was_cut_short_is_not_sound(
    tmp_path: Path, authority: OpensslAuthority, capsys: pytest.CaptureFixture[str]
) -> None:
    """More records were timestamped than it has."""
    short = Scene(records()[:EVERY], sizes=[EVERY])
    export = write_export(tmp_path / "short", short.lines())
    given = flags(tmp_path, authority, [stamp(authority, Scene().heads()[RECORDS])])
    assert MAIN([str(export), *given]) == 1
    assert f"the head of {RECORDS} records is of none that it holds" in capsys.readouterr().out


def test_a_timestamp_of_another_head_or_authority_is_not_sound(
    export: Path, tmp_path: Path, authority: OpensslAuthority, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line is named."""
    heads = Scene().heads()
    (tmp_path / "other").mkdir()
    other = OpensslAuthority(tmp_path / "other")
    for wrong in (
        stamp(authority, heads[RECORDS], of=heads[EVERY]),
        stamp(other, heads[RECORDS]),
    ):
        given = flags(tmp_path, authority, [stamp(authority, heads[EVERY]), wrong])
        assert MAIN([str(export), *given]) == 1
        assert "line 2: openssl finds no timestamp of the head" in capsys.readouterr().out


def test_a_head_that_anybody_had_timestamped_is_no_trust(
    export: Path, tmp_path: Path, authority: OpensslAuthority, capsys: pytest.CaptureFixture[str]
) -> None:
    """An authority timestamps what anybody sends it: the head is signed with another key."""
    forged = Scene(key=OTHER_KEY).heads()[RECORDS]
    given = flags(tmp_path, authority, [stamp(authority, forged)])
    assert MAIN([str(export), *given]) == 1
    assert "the head is signed with the key" in capsys.readouterr().out


def test_timestamps_need_a_key_and_a_ca(
    export: Path, tmp_path: Path, authority: OpensslAuthority, capsys: pytest.CaptureFixture[str]
) -> None:
    """And it is no verdict where they are missing."""
    given = flags(tmp_path, authority, [])
    for less in (given[:-2], given[:2] + given[4:]):
        with pytest.raises(SystemExit) as ended:
            MAIN([str(export), *less])
        assert ended.value.code == 2
        assert "give --tsa-ca and --key" in capsys.readouterr().err
