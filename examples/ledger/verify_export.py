#!/usr/bin/env python3
"""Verify an export of a Sallyport ledger with Python's standard library and openssl alone.

    python3 verify_export.py ledger.jsonl.gz --key key.pem --head 18000:9f2c…
    python3 verify_export.py ledger.jsonl.gz --key key.pem --timestamps stamps.jsonl --tsa-ca ca.pem

`--key` is the public key of the ledger's heads (PEM), `--head` a head that you noted, or that an
anchor has: SIZE:ROOT. Without any, the file is only shown to agree with itself. The exit code is 0
where nothing is wrong, 1 where something is, 2 where the file or the key cannot be read.

It shows that no record was changed, removed, put in or moved. It does not judge what records say,
nor what retention removed: `sallyport ledger verify` does. The format is described in
docs/reference/ledger-export.md; nothing of Sallyport is used here.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

Line = dict[str, Any]

MOST_LINE = 8 * 1024 * 1024
MOST_BYTE = 255
GZIP = b"\x1f\x8b"
ED25519 = bytes.fromhex("302a300506032b6570032100")
"""What stands before the 32 bytes of a public key in DER (RFC 8410)."""
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)

FIELDS: dict[str, dict[str, type]] = {
    "export": {
        "line": str,
        "format": int,
        "log": str,
        "first": int,
        "size": int,
        "since": str,
        "until": str,
        "keys": list,
        "frontier": list,
        "made": str,
    },
    "leaf": {
        "line": str,
        "at": int,
        "kind": int,
        "cluster": str,
        "id": str,
        "payload": str,
        "payload64": str,
        "digest": str,
        "aside": bool,
    },
    "head": {"line": str, "head": dict},
    "end": {"line": str, "leaves": int, "heads": int},
}
"""Of each kind of line, in the order in which they are written."""

HEAD_FIELDS: dict[str, type] = {
    "format": int,
    "log": str,
    "size": int,
    "root": str,
    "time": str,
    "key": str,
    "signature": str,
}

DEFAULTS: Line = {
    "since": "",
    "until": "",
    "keys": [],
    "frontier": [],
    "payload": None,
    "payload64": None,
    "digest": None,
    "aside": False,
}
"""Fields that are left out where they have these values."""

DIGITS = {"log": 32, "root": 64, "key": 16, "signature": 128}
"""Hex digits of the fields of a head."""


class WrongError(Exception):
    """Something is wrong with the log, at a line of the file."""


class Tree:
    """A Merkle tree of RFC 9162 that grows: the roots of its whole subtrees, the largest first."""

    def __init__(self, size: int, hashes: Iterable[bytes]) -> None:
        self.size, self.hashes = size, list(hashes)
        if size < 0 or len(self.hashes) != size.bit_count():
            raise WrongError(f"a tree of {size} leaves has no {len(self.hashes)} whole subtrees")

    def append(self, leaf: bytes) -> None:
        """Add the hash of a leaf."""
        size = self.size
        while size & 1:
            leaf = hashlib.sha256(b"\1" + self.hashes.pop() + leaf).digest()
            size >>= 1
        self.hashes.append(leaf)
        self.size += 1

    def root(self) -> str:
        """Return the root, in hex."""
        if not self.hashes:
            return hashlib.sha256(b"").hexdigest()
        root = self.hashes[-1]
        for each in reversed(self.hashes[:-1]):
            root = hashlib.sha256(b"\1" + each + root).digest()
        return root.hex()


def leaf_hash(line: Line) -> bytes:
    """Return the hash of a leaf's line."""
    kind, cluster, identity = line["kind"], line["cluster"].encode(), from_hex(line["id"])
    if not 0 <= kind <= MOST_BYTE or max(len(cluster), len(identity)) > MOST_BYTE:
        raise WrongError(f"kind, and the lengths of cluster and id, are at most {MOST_BYTE}")
    header = bytes((1, kind, len(cluster))) + cluster + bytes((len(identity),)) + identity
    return hashlib.sha256(b"\0" + header + document_digest(line)).digest()


def document_digest(line: Line) -> bytes:
    """Return the SHA-256 of the document of a leaf's line, which may have been removed."""
    if len({"payload", "payload64", "digest"} & line.keys()) != 1:
        raise WrongError("a leaf has one of payload, payload64 and digest")
    if "digest" in line:
        return from_hex(line["digest"], 64)
    if "payload" in line:
        return hashlib.sha256(line["payload"].encode()).digest()
    return hashlib.sha256(from_base64(line["payload64"])).digest()


class Signatures:
    """Checks signatures of heads (Ed25519) with openssl."""

    def __init__(self, keys: Iterable[Path]) -> None:
        self.keys: dict[str, Path] = {}
        for key in keys:
            der = openssl("pkey", "-pubin", "-in", key, "-outform", "DER").stdout
            if der[:-32] != ED25519:
                sys.exit(fail(f"{key}: openssl reads no public key of Ed25519 in it"))
            self.keys[hashlib.sha256(der[-32:]).hexdigest()[:16]] = key

    def check(self, head: Line) -> None:
        """Demand that one of the keys has signed a head."""
        key = self.keys.get(head["key"])
        if key is None:
            yours = ", ".join(self.keys)
            raise WrongError(f"the head is signed with the key {head['key']}, yours: {yours}")
        with written(head_text(head), from_hex(head["signature"])) as (signed, signature):
            done = openssl(
                *("pkeyutl", "-verify", "-pubin", "-inkey", key, "-rawin"),
                *("-in", signed, "-sigfile", signature),
            )
        if done.returncode:
            raise WrongError("the signature of the head is not the key's")


def head_text(head: Line) -> bytes:
    """Return the text of a head that its signature, and a timestamp, is over."""
    lines = ["sallyport tree head", *(str(head[name]) for name in HEAD_FIELDS)][:-1]
    return "".join(f"{line}\n" for line in lines).encode()


@contextmanager
def written(*contents: bytes) -> Iterator[list[Path]]:
    """Yield files that hold these contents; they are gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, str(number)) for number in range(len(contents))]
        for file, content in zip(files, contents, strict=True):
            file.write_bytes(content)
        yield files


def openssl(*arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    """Run openssl; its exit code says what it found."""
    try:
        return subprocess.run(
            ["openssl", *map(str, arguments)],  # noqa: S607  The reader's own.
            capture_output=True,
            check=False,
        )
    except OSError as error:
        sys.exit(fail(f"openssl: {error.strerror}"))


class Export:
    """Takes the lines of an export in their order."""

    def __init__(self, opening: Line, signatures: Signatures, noted: dict[int, str]) -> None:
        if opening["line"] != "export" or opening["format"] != 1:
            raise WrongError("it is no first line of an export of format 1")
        for name in ("since", "until", "made"):
            if name in opening:
                demand_time(name, opening[name])
        self.opening, self.signatures, self.noted = opening, signatures, dict(noted)
        frontier = opening.get("frontier", [])
        self.tree = Tree(opening["first"], (from_hex(each, 64) for each in frontier))
        self.leaves = self.heads = self.removed = 0
        self.last: Line | None = None
        self.end: Line | None = None
        self.meet()

    def take(self, line: Line) -> None:
        """Take the next line."""
        if self.end is not None:
            raise WrongError("a line follows the last one")
        if line["line"] == "leaf":
            self.leaf(line)
        elif line["line"] == "head":
            self.head(line["head"])
        elif line["line"] == "end":
            self.end = line
        else:
            raise WrongError("a second export begins here")

    def leaf(self, line: Line) -> None:
        """Take a leaf."""
        if line["at"] != self.tree.size:
            raise WrongError(f"the leaf says that it is at {line['at']}, not at {self.tree.size}")
        self.tree.append(leaf_hash(line))
        self.leaves += 1
        self.removed += "digest" in line
        self.meet()

    def head(self, head: Line) -> None:
        """Take a head: it must be of the leaves before it."""
        demand_head(head)
        demand_log(head, self.opening)
        if head["size"] != self.tree.size or head["root"] != self.tree.root():
            raise WrongError(f"the head of {head['size']} records is not of these")
        if self.last is not None and head["time"] < self.last["time"]:
            raise WrongError("the head is older than the one before it")
        if self.signatures.keys:
            self.signatures.check(head)
        self.heads += 1
        self.last = head

    def meet(self) -> None:
        """Compare the tree with a head that the reader noted, once it has its size."""
        root = self.noted.pop(self.tree.size, None)
        if root not in {None, self.tree.root()}:
            raise WrongError(f"the first {self.tree.size} records are not those that you noted")

    def finish(self) -> None:
        """Judge what can only be judged at the end."""
        if self.end is None:
            raise WrongError("it was cut short: it has no last line")
        if (self.end["leaves"], self.end["heads"]) != (self.leaves, self.heads):
            raise WrongError("its last line counts other records or heads")
        if self.tree.size != self.opening["size"]:
            raise WrongError(f"its first line says that it ends before {self.opening['size']}")
        if self.noted:
            raise WrongError(f"the head of {min(self.noted)} records is of none that it holds")


def demand_fields(part: Line, fields: dict[str, type]) -> None:
    """Demand the fields of a kind of line: in their order, of their types, defaults left out."""
    if list(part) != [name for name in fields if name in part]:
        raise WrongError(f"it has other fields than {', '.join(fields)}, or another order of them")
    for name, kind in fields.items():
        if name not in part:
            if name not in DEFAULTS:
                raise WrongError(f"{name} is missing")
        elif type(part[name]) is not kind or (name in DEFAULTS and part[name] == DEFAULTS[name]):
            raise WrongError(f"{name}: an export has no {part[name]!r:.40} there")


def demand_head(head: Line) -> None:
    """Demand the form of a head."""
    demand_fields(head, HEAD_FIELDS)
    if head["format"] != 1:
        raise WrongError(f"the head has the format {head['format']}, and not 1")
    for name, digits in DIGITS.items():
        from_hex(head[name], digits)
    demand_time("time", head["time"])


def demand_log(head: Line, opening: Line) -> None:
    """Demand that a head is of the log of an export."""
    if head["log"] != opening["log"]:
        raise WrongError(f"the head is of another log, {head['log']}")


def demand_time(name: str, text: str) -> None:
    """Demand a time as exports write it."""
    if not TIME.fullmatch(text):
        raise WrongError(f"{name}: {text!r:.40} is no time in UTC with milliseconds")


def from_hex(text: str, digits: int | None = None) -> bytes:
    """Return the bytes of lower-case hex digits: others may say the same, and are no export's."""
    content = bytes.fromhex(text)
    if content.hex() != text or len(text) != (digits or len(text)):
        raise WrongError(f"{text!r:.40} is not written in {digits or 'lower-case'} hex digits")
    return content


def from_base64(text: str) -> bytes:
    """Return the bytes that are no UTF-8: others are written as text."""
    content = base64.b64decode(text, validate=True)
    try:
        content.decode()
    except UnicodeDecodeError:
        if base64.b64encode(content).decode() == text:
            return content
    raise WrongError("payload64: an export writes these bytes in another way")


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, which may be packed with gzip."""
    with path.open("rb") as file:
        is_packed = file.read(len(GZIP)) == GZIP
    with gzip.open(path) if is_packed else path.open("rb") as file:
        yield from iter(partial(file.readline, MOST_LINE), b"")


def decode(content: bytes) -> Line:
    """Return a line, which must be written as an export writes it."""
    line = json.loads(content)
    again = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    if not isinstance(line, dict) or again != content:
        raise WrongError("it is not written as an export writes it")
    demand_fields(line, FIELDS[line["line"]])
    return line


def verify(path: Path, signatures: Signatures, noted: dict[int, str]) -> Export:
    """Return the verified export; raise WrongError with the line."""
    number = 1
    try:
        lines = read_lines(path)
        export = Export(decode(next(lines, b"")), signatures, noted)
        for number, content in enumerate(lines, 2):  # noqa: B007  What fails is named by it.
            export.take(decode(content))
        export.finish()
    except WrongError as error:
        raise WrongError(f"line {number}: {error}") from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise WrongError(f"after line {number}: its gzip is damaged") from None
    except (LookupError, RecursionError, TypeError, ValueError) as error:
        raise WrongError(f"line {number}: it is no line of an export ({error})") from None
    return export


def read_cosigned(path: Path, texts: Sequence[str], log: str) -> tuple[int, str]:
    """Return size and root of a checkpoint that one of these witnesses cosigned of a log."""
    text, _, signatures = path.read_bytes().decode().rpartition("\n\n")
    origin, size, root = text.split("\n")[:3]
    if origin != f"sallyport.dev/ledger/{log}":
        raise WrongError(f"{path}: the checkpoint is of {origin}, and not of this log")
    for line in signatures.splitlines():
        _, name, coded = line.split(" ")
        content = base64.b64decode(coded, validate=True)
        for key in texts:
            known, _, rest = key.partition("+")
            raw = base64.b64decode(rest.partition("+")[2], validate=True)
            digest = hashlib.sha256(known.encode() + b"\n" + raw).digest()
            if (name, content[:4], raw[:1]) != (known, digest[:4], b"\4"):
                continue
            time = int.from_bytes(content[4:12], "big")
            if not is_signed(raw[1:], f"cosignature/v1\ntime {time}\n{text}\n", content[12:]):
                raise WrongError(f"{path}: the cosignature is not that of {name}")
            return int(size), base64.b64decode(root, validate=True).hex()
    raise WrongError(f"{path}: none of your witnesses cosigned it")


def read_timestamped(
    path: Path, authority: Path, signatures: Signatures, opening: Line
) -> dict[int, str]:
    """Return the roots by size of the heads of a log that an authority timestamped.

    An authority timestamps what anybody sends it, so each head is signed with one of the keys.
    """
    found: dict[int, str] = {}
    for number, content in enumerate(read_lines(path), 1):
        if not content.rstrip(b"\n").endswith(b"}"):
            continue  # A crash cut it short; the auditor tries it again then.
        try:
            line = json.loads(content)
            head, reply = line["head"], base64.b64decode(line["reply"], validate=True)
            demand_head(head)
            demand_log(head, opening)
            signatures.check(head)
            demand_timestamp(head, reply, authority)
        except WrongError as error:
            raise WrongError(f"{path}: line {number}: {error}") from None
        except (LookupError, RecursionError, TypeError, ValueError) as error:
            message = f"{path}: line {number}: it is no line of timestamps ({error})"
            raise WrongError(message) from None
        if found.setdefault(head["size"], head["root"]) != head["root"]:
            raise WrongError(f"{path}: line {number}: another head of {head['size']} records")
    return {size: root for size, root in found.items() if size >= opening["first"]}


def demand_timestamp(head: Line, reply: bytes, authority: Path) -> None:
    """Demand that a reply is a timestamp of a head (RFC 3161) by an authority of a CA."""
    with written(head_text(head), reply) as (text, answer):
        done = openssl("ts", "-verify", "-data", text, "-in", answer, "-CAfile", authority)
    if done.returncode:
        raise WrongError("openssl finds no timestamp of the head by an authority of this CA")


def is_signed(raw: bytes, text: str, signature: bytes) -> bool:
    """Return whether the signature of a text is that of a raw key of Ed25519."""
    with written(ED25519 + raw, text.encode(), signature) as (key, signed, found):
        done = openssl(
            *("pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", key, "-rawin"),
            *("-in", signed, "-sigfile", found),
        )
    return done.returncode == 0


def fail(message: str) -> int:
    """Say what cannot be read; return the exit code."""
    print(message, file=sys.stderr)
    return 2


def read_head(text: str) -> tuple[int, str]:
    """Read SIZE:ROOT."""
    if not re.fullmatch(r"[0-9]{1,18}:[0-9a-f]{64}", text):
        raise argparse.ArgumentTypeError("give SIZE:ROOT, the root in 64 hex digits")
    size, _, root = text.partition(":")
    return int(size), root


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify the file of the command line; return the exit code."""
    parser = argparse.ArgumentParser(description="Verify an export of a Sallyport ledger.")
    parser.add_argument("export", type=Path)
    parser.add_argument(
        *("--key", "-k"),
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="a public key of its heads (PEM); after a change of the key give both",
    )
    parser.add_argument(
        "--head",
        type=read_head,
        action="append",
        default=[],
        metavar="SIZE:ROOT",
        help="a head that you noted, or that an anchor has",
    )
    parser.add_argument(
        "--cosigned",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="a checkpoint that a witness cosigned",
    )
    parser.add_argument(
        "--witness-key",
        action="append",
        default=[],
        metavar="VKEY",
        help="the key of a witness whom you believe (NAME+ID+BASE64)",
    )
    parser.add_argument(
        "--timestamps",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="heads that an authority timestamped (JSON lines); needs --tsa-ca and --key",
    )
    parser.add_argument(
        "--tsa-ca", type=Path, metavar="PEM", help="the CA of the timestamp authority"
    )
    given = parser.parse_args(arguments)
    if given.timestamps and not (given.tsa_ca and given.key):
        parser.error(
            "--timestamps: give --tsa-ca and --key, too: anybody can have heads timestamped"
        )
    try:
        signatures = Signatures(given.key)
        noted = noted_heads(given, signatures)
        proven = max(noted, default=0)  # It is sound only if it met all of them.
        export = verify(given.export, signatures, noted)
    except OSError as error:
        return fail(f"{error.filename or given.export}: {error.strerror}")
    except WrongError as error:
        print(f"Not sound: {error}")
        return 1
    report(export, proven, has_key=bool(given.key))
    return 0


def noted_heads(given: argparse.Namespace, signatures: Signatures) -> dict[int, str]:
    """Return the roots that the command line brings, by size."""
    noted = dict(given.head)
    opening = opening_of(given.export) if given.cosigned or given.timestamps else {}
    for path in given.cosigned:
        try:
            found = dict([read_cosigned(path, given.witness_key, opening["log"])])
        except (IndexError, ValueError) as error:
            raise WrongError(f"{path}: it is no checkpoint, or a key is none ({error})") from None
        note(noted, path, found)
    for path in given.timestamps:
        note(noted, path, read_timestamped(path, given.tsa_ca, signatures, opening))
    return noted


def note(noted: dict[int, str], path: Path, found: dict[int, str]) -> None:
    """Add the roots that a file has to those that the reader noted."""
    for size, root in found.items():
        if noted.setdefault(size, root) != root:
            raise WrongError(f"{path}: you noted another root of {size} records")


def opening_of(path: Path) -> Line:
    """Return the first line of an export; one of no log where it is none, which `verify` says."""
    try:
        opening = decode(next(read_lines(path), b""))
    except (EOFError, LookupError, OSError, RecursionError, TypeError, ValueError, zlib.error):
        opening = {}
    except WrongError:
        opening = {}
    return {"log": "", "first": 0} | opening


def report(export: Export, proven: int, *, has_key: bool) -> None:
    """Say what was shown of a sound export, whose first `proven` records a noted head covers."""
    print(f"Sound: log {export.opening['log']}, {export.leaves} records, {export.heads} heads.")
    if export.removed:
        print(f"The documents of {export.removed} records were removed; their digests are there.")
    signed = export.last["size"] if export.last else export.opening["first"]
    if not (has_key or proven):
        print("It agrees with itself only: give --key, --cosigned, or a --head that you noted.")
    elif not has_key and proven < export.tree.size:
        print(f"Records from {proven} on are vouched for by nothing that you gave.")
    elif has_key and max(signed, proven) < export.tree.size:
        print(f"Records from {max(signed, proven)} on are not under a head yet.")


if __name__ == "__main__":
    sys.exit(main())
