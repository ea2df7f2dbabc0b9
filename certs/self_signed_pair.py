"""A CA and a serving pair for one machine: what `sallyport run` listens with."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from certs.authority import (
    KeyPair,
    LeafNames,
    Purpose,
    is_for,
    is_issued_by,
    is_pair,
    issue,
    make_authority,
    read_certificate,
    validity,
)
from core.base.whole_files import write_whole

MINIMUM_LEFT = dt.timedelta(days=1)
"""A pair that is valid for less is made anew."""


@dataclass(frozen=True)
class PairFiles:
    """Where a pair lies, PEM."""

    ca: Path
    certificate: Path
    key: Path


def make_pair(folder: Path, hosts: Sequence[str], lifetime: dt.timedelta) -> PairFiles:
    """Make a CA and a pair for `hosts` (DNS names and IP addresses) in `folder`, or reuse it.

    What is there is kept when it is a pair of this CA for all of `hosts` that is valid for
    more than MINIMUM_LEFT. The CA's own key is thrown away: it signs nothing else.

    Raises:
        ValueError: `hosts` is empty.
    """
    if not hosts:
        message = "a certificate needs at least one host name or address"
        raise ValueError(message)
    files = PairFiles(folder / "ca.crt", folder / "tls.crt", folder / "tls.key")
    names = LeafNames(Purpose.SERVER, tuple(hosts))
    now = dt.datetime.now(dt.UTC)
    if not _is_usable(files, names, now):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(files, names, now, lifetime)
    return files


def _is_usable(files: PairFiles, names: LeafNames, now: dt.datetime) -> bool:
    try:
        ca = read_certificate(files.ca.read_bytes())
        pair = KeyPair(files.certificate.read_bytes(), files.key.read_bytes())
        leaf = read_certificate(pair.certificate)
    except (OSError, ValueError):
        return False
    return (
        is_pair(pair)
        and is_issued_by(leaf, [ca])
        and is_for(leaf, names)
        and min(leaf.not_valid_after_utc, ca.not_valid_after_utc) - now > MINIMUM_LEFT
    )


def _make(files: PairFiles, names: LeafNames, now: dt.datetime, lifetime: dt.timedelta) -> None:
    valid = validity(now, lifetime)
    authority = make_authority("Sallyport local CA", valid)
    pair = issue(authority, names, valid)
    # The key first: a watcher that looks in between sees halves that do not match, and waits.
    write_whole(files.key, pair.key, 0o600)
    write_whole(files.ca, authority.certificate, 0o644)
    write_whole(files.certificate, pair.certificate, 0o644)
