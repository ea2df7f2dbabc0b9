"""A policy bundle: what `sallyport policy build` makes and a gate puts in force.

It is an OPA bundle (https://www.openpolicyagent.org/docs/management-bundles) compiled to
WebAssembly. Its manifest carries, under `metadata.sallyport`, the format version and the METADATA
of each rule, since the gate has no Rego compiler to ask. Its file is a `.tar.gz`, as OPA's are.
"""

import gzip
import hashlib
import io
import stat
import tarfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec

from core.base.errors import BundleRefusedError
from core.base.json_errors import DECODE_ERRORS
from core.base.safe_text import safe_excerpt
from core.base.times import LATEST_S
from core.profiles.privileges import covers
from policies.bundle.signatures import (
    NO_KEYS,
    SIGNATURES,
    BundleKeys,
    is_structured,
    sign,
    verify,
)

if TYPE_CHECKING:  # As signatures.py: its libraries are not for what is not signed.
    from policies.bundle.signature_keys import SigningKey

FORMAT: Final = 3
"""Version of what is under `metadata.sallyport`, and of what the entry points answer.

Version 1 had no `judge`: to read it would be to find fewer signals without a word
(docs/adr/0029-judge-and-site-signals.md). Version 2 had no rules of a site that deny: all that it
says is read (docs/adr/0051-rules-of-a-site.md).
"""

_READABLE: Final = (2, 3)

NEEDS: Final = "sallyport/needs/answer"
"""The entry point `needs`: a projection in; for each rule, what the object needs."""

JUDGE: Final = "sallyport/judge/answer"
"""The entry point `judge`: the context of a request in, and the object where a site's signals may
read it; for each rule, what makes the request riskier."""

MAX_BYTES: Final = 16 * 1024 * 1024
"""Largest bundle, packed and unpacked; ours take under 1 MiB."""

MOST_JSON: Final = 2 * 1024 * 1024
"""Of a file that is parsed: ours take a tenth, and cases up to 1 MiB. Parsed, a file of these can
take twenty times what it takes as text."""

EngineName = Literal["embedded", "opa"]
Effect = Literal["deny", "warn"]
"""What becomes of what a site's rule denies."""

_NULL: Final = msgspec.Raw(b"null")
_NO_FIELDS: Final = msgspec.Raw(b"{}")


class Rule(msgspec.Struct, frozen=True, rename="camel"):
    """What the METADATA of a Rego rule says to people."""

    id: str
    title: str
    description: str
    message: str
    """With `{value}` for the privilege without its first segment (`adds the capability {value}`),
    `{rest}` without its first two; of a privilege of two segments, its second."""
    remedy: str
    since: int
    """The version of the catalogue in which the rule's privileges appeared, or the signal."""
    severity: str = ""
    """Of what is refused; signals have points."""
    points: int = 0
    """Of a signal: what it adds to the score of the object."""
    risk: int = 0
    """Of a rule of privileges: the points of one that is had by an exception only."""
    risks: dict[str, int] = {}
    """The same of the privileges that a pattern covers, where it is another."""
    sources: list[str] = []
    privileges: list[str] = []
    """Patterns of the privileges that it names; a site's rule names none."""
    site: bool = False
    """Whether it is a site's own, or one of the library that the site has chosen."""
    kinds: list[str] = []
    """Of a site's rule: what it is asked about, `Pod` or `networking.k8s.io/Ingress`."""
    fields: list[str] = []
    """Of a site's rule: what it reads of these besides the projection."""
    action: Effect = "deny"
    """Of a site's rule: what becomes of what it denies."""

    def risk_of(self, privilege: str) -> int:
        """Return the points of a privilege of this rule that is had by an exception only."""
        found = [points for pattern, points in self.risks.items() if covers(pattern, privilege)]
        return max(found, default=self.risk)


class BundleCase(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A test that a bundle carries: an input, and what must be found in it (rule ids).

    The input is not parsed where the bundle is read, but where it is tried out, within limits.
    """

    name: str
    projection: msgspec.Raw
    """The input of `needs`, a JSON object, as are `context` and `fields`."""
    needs: list[str] | None = None
    """Privileges; None where they do not matter."""
    context: msgspec.Raw = _NULL
    """Of `judge`; null where it is not asked."""
    kind: str = "Pod"
    fields: msgspec.Raw = _NO_FIELDS
    denials: list[str] = []
    """Rules that `judge` says deny, each once."""
    warnings: list[str] = []
    signals: list[str] | None = None
    """Of both; None where they do not matter."""


class Manifest(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`metadata.sallyport` of a bundle's manifest."""

    format: int
    rules: list[Rule]
    cases: list[BundleCase] = []
    """Judged wherever the bundle is loaded, before it is put in force."""
    engine: EngineName = "embedded"
    """What it was built for: `embedded`, also taken by an OPA server, or `opa` alone."""
    built_at: Annotated[int, msgspec.Meta(ge=0, le=LATEST_S)] = 0
    """Unix seconds: by it one knows which of two signed bundles is the older. 0 says nothing."""


@dataclass(frozen=True)
class Bundle:
    """A bundle, read and checked in shape, not yet compiled."""

    wasm: bytes
    rules: Mapping[str, Rule]
    sources: Mapping[str, str] = field(repr=False)
    """Rego by path, for messages that must name a place."""
    revision: str
    """First 12 hex digits of the SHA-256 of the policy and its METADATA."""
    digest: str = field(default="", compare=False)
    """SHA-256 of the whole file, in hex."""
    cases: Sequence[BundleCase] = ()
    """Tests that it carries."""
    engine: EngineName = "embedded"
    """What it was built for."""
    built_at: int = field(default=0, compare=False)
    """Unix seconds, as its builder says; 0 where it does not."""
    signed_by: str = field(default="", compare=False)
    """Id of the key by which it is signed; empty where none is demanded."""
    machine: bytes = field(default=b"", compare=False, repr=False)
    """What `wasm` was compiled to here (`policies.trial.process`); never of a file."""

    @property
    def has_site_rules(self) -> bool:
        """Whether `judge` is to see the object too."""
        return any(rule.site for rule in self.rules.values())


class _Metadata(msgspec.Struct):
    sallyport: Manifest


class _OpaManifest(msgspec.Struct):
    metadata: _Metadata


def read_bundle(path: Path, keys: BundleKeys = NO_KEYS) -> Bundle:
    """Read a bundle from a `.tar.gz`, which one of `keys` must have signed where there are any.

    Raises:
        BundleRefusedError: it is missing, damaged, too large, made by another format version, or
            not signed as it must be.
    """
    return parse_bundle(read_archive(path), str(path), keys)


def parse_bundle(packed: bytes, path: str, keys: BundleKeys = NO_KEYS) -> Bundle:
    """Read a bundle from the bytes of a `.tar.gz`; `path` is what messages call it.

    Raises:
        BundleRefusedError: as `read_bundle`.
    """
    with wording_refusals():
        return _parsed(packed, path, keys)


def read_archive(path: Path) -> bytes:
    """Read the file of a bundle.

    Raises:
        BundleRefusedError: it is missing, too large or no file.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise BundleRefusedError(f"{path}: cannot be read as a bundle: not a regular file")
        if found.st_size > MAX_BYTES:
            raise BundleRefusedError(f"{path}: larger than {MAX_BYTES >> 20} MiB")
        return path.read_bytes()
    except FileNotFoundError as error:
        message = f"{path}: no such bundle; make it with 'sallyport policy build'"
        raise BundleRefusedError(message) from error
    except OSError as error:
        raise BundleRefusedError(f"{path}: cannot be read as a bundle: {error}") from error


@contextmanager
def wording_refusals() -> Iterator[None]:
    """Cut and spell out what is said of a bundle: it holds text of the bundle's own.

    Raises:
        BundleRefusedError: what is within does.
    """
    try:
        yield
    except BundleRefusedError as error:
        raise BundleRefusedError(safe_excerpt(str(error))) from error


def _parsed(packed: bytes, path: str, keys: BundleKeys) -> Bundle:
    files = unpack(packed, path)
    _refuse_large(files, path)
    signed_by = verify(files, keys, path) if keys.by_id else ""
    try:
        wasm, manifest_json = files["policy.wasm"], files[".manifest"]
    except KeyError as error:
        message = f"{path}: no {error.args[0]} in it; make it with 'sallyport policy build'"
        raise BundleRefusedError(message) from error
    try:
        manifest = msgspec.json.decode(manifest_json, type=_OpaManifest).metadata.sallyport
    except DECODE_ERRORS as error:
        message = f"{path}: .manifest: {error}; make it with 'sallyport policy build'"
        raise BundleRefusedError(message) from error
    if manifest.format not in _READABLE:
        message = (
            f"{path}: format {manifest.format}; this release reads {FORMAT - 1} and {FORMAT}: make "
            "it again with 'sallyport policy build'"
        )
        raise BundleRefusedError(message)
    rules = {rule.id: rule for rule in manifest.rules}
    if len(rules) < len(manifest.rules):
        # One would stand in for the other, with its points and its severity.
        counts = Counter(rule.id for rule in manifest.rules)
        twice = next(rule for rule, count in counts.items() if count > 1)
        message = f"{path}: .manifest: the rule {twice} is in it twice"
        raise BundleRefusedError(f"{message}; make it with 'sallyport policy build'")
    return Bundle(
        wasm=wasm,
        rules=rules,
        sources={n: b.decode(errors="replace") for n, b in files.items() if n.endswith(".rego")},
        revision=_revision(wasm, manifest),
        digest=hashlib.sha256(packed).hexdigest(),
        cases=tuple(manifest.cases),
        engine=manifest.engine,
        built_at=manifest.built_at,
        signed_by=signed_by,
    )


def _refuse_large(files: Mapping[str, bytes], where: str) -> None:
    """Refuse files that would take too much memory to parse: to be asked before that is done.

    Raises:
        BundleRefusedError: one is too large.
    """
    for name, content in files.items():
        if len(content) > MOST_JSON and (name == SIGNATURES or is_structured(name)):
            raise BundleRefusedError(f"{where}: {name}: larger than {MOST_JSON >> 20} MiB")


def add_signature(packed: bytes, signing: "SigningKey", path: str) -> bytes:
    """Return a packed bundle with a signature; one that it has already is replaced.

    Raises:
        BundleRefusedError: it cannot be read.
    """
    files = unpack(packed, path)
    _refuse_large(files, path)
    return pack(files | {SIGNATURES: sign(files, signing)})


def _revision(wasm: bytes, manifest: Manifest) -> str:
    """Name what judges: not when it was built."""
    manifest = msgspec.structs.replace(manifest, built_at=0)
    return hashlib.sha256(wasm + msgspec.json.encode(manifest)).hexdigest()[:12]


def with_manifest(archive: bytes, manifest: Manifest, sources: Mapping[str, bytes]) -> bytes:
    """Return OPA's bundle with `manifest` put into its `.manifest`; same in, same out.

    `sources` are the Rego files as their authors wrote them, by path: OPA puts its own
    formatting of them into the bundle, in which lines have other numbers.
    """
    files: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as old:
        for member in old:
            stream = old.extractfile(member)
            name = member.name.lstrip("/")
            content = sources.get(name) or (stream.read() if stream else b"")
            files[name] = content
    opa = msgspec.json.decode(files[".manifest"])
    opa["metadata"] = {"sallyport": manifest}
    # An OPA server that loads it says the revision, and evaluates the Rego: only some builds of it
    # evaluate WebAssembly, and the others refuse a bundle that names some.
    opa["revision"] = _revision(files["policy.wasm"], manifest)
    opa.pop("wasm", None)
    files[".manifest"] = msgspec.json.encode(opa)
    return pack(files)


def unpack(packed: bytes, path: str) -> dict[str, bytes]:
    """Return the files of a packed bundle, by name; `path` is what messages call it.

    Raises:
        BundleRefusedError: it is damaged, or too large.
    """
    try:
        with gzip.open(io.BytesIO(packed)) as unpacked:
            content = unpacked.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise BundleRefusedError(f"{path}: unpacks to more than {MAX_BYTES >> 20} MiB")
        return dict(_entries(content))
    except (OSError, EOFError, ValueError, tarfile.TarError, zlib.error) as error:
        raise BundleRefusedError(f"{path}: cannot be read as a bundle: {error}") from error


def _entries(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each file of an unpacked archive.

    The blocks are walked here, since `tarfile` follows links and takes any memory for extended
    headers. OPA and `pack` write neither: files and folders are all there can be.
    """
    at = 0
    while (header := content[at : at + tarfile.BLOCKSIZE]).strip(b"\0"):
        entry = tarfile.TarInfo.frombuf(header, "utf-8", "replace")
        at += tarfile.BLOCKSIZE
        if entry.isdir():
            continue
        if entry.type not in {tarfile.REGTYPE, tarfile.AREGTYPE}:
            raise ValueError(f"{entry.name!r} is neither a file nor a folder")
        end = at + entry.size
        if not at <= end <= len(content):
            raise ValueError(f"{entry.name!r} does not end in it")
        yield entry.name.lstrip("/"), content[at:end]
        at = end + -end % tarfile.BLOCKSIZE


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return a packed bundle of files by name; same in, same out."""
    out = io.BytesIO()
    with (
        # Without a time in the header, which tarfile's own "w:gz" would put there.
        gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as new,
    ):
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(f"/{name}")
            entry.size = len(content)
            new.addfile(entry, io.BytesIO(content))
    return out.getvalue()
