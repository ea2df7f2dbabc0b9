"""Where a release comes from: an in-toto Statement with SLSA's provenance (slsa.dev, v1).

Signed, it is a DSSE envelope (github.com/secure-systems-lab/dsse, protocol.md).
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from deploy.image.build import Inputs
from deploy.release.signatures import Key, sign

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
_STATEMENT: Final = "https://in-toto.io/Statement/v1"
_PREDICATE: Final = "https://slsa.dev/provenance/v1"
_BUILD: Final = "https://sallyport.example/docs/operate/release"
_LOCKS: Final = ("requirements/runtime.txt", "deploy/image/debian.lock")


def statement(inputs: Inputs, artifacts: Sequence[Path]) -> bytes:
    """Return the statement about artifacts, as JSON. Nobody vouches for the machine it ran on."""
    subjects = [{"name": each.name, "digest": {"sha256": sha256(each)}} for each in artifacts]
    commit = {
        "uri": "git+https://sallyport.example/source",
        "digest": {"gitCommit": inputs.revision},
    }
    locks = [{"name": name, "digest": {"sha256": sha256(inputs.source / name)}} for name in _LOCKS]
    predicate = {
        "buildDefinition": {
            "buildType": _BUILD,
            "externalParameters": {"version": inputs.version, "revision": inputs.revision},
            "resolvedDependencies": [commit, *locks],
        },
        "runDetails": {"builder": {"id": f"{_BUILD}#make-release"}},
    }
    said: dict[str, Any] = {
        "_type": _STATEMENT,
        "subject": subjects,
        "predicateType": _PREDICATE,
        "predicate": predicate,
    }
    return msgspec.json.encode(said)


def envelope(payload: bytes, key: Key) -> bytes:
    """Return the signed envelope of a statement, as JSON."""
    said: Mapping[str, Any] = {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [{"sig": sign(key, encoding(PAYLOAD_TYPE, payload))}],
    }
    return msgspec.json.encode(said)


def encoding(payload_type: str, payload: bytes) -> bytes:
    """Return what a DSSE signature is of: type and payload, each after its length."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def sha256(file: Path) -> str:
    """Return the digest of a file, hex."""
    return hashlib.sha256(file.read_bytes()).hexdigest()
