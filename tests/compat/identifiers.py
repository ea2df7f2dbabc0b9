"""Ids, digests and names that are computed: of fixed inputs, what the code makes of them.

They are compared with what is stored, in the cluster or the ledger: computed otherwise, an approval
counts no more, a finding is told twice, a Pod is selected by nobody.
"""

import base64
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.access.model.sightings import digest_of as blob_digest
from audit.access.parsers.reader import make_refused_record
from audit.access.sources.blob_hours import digest_of as read_digest
from audit.ledger.log.anchors import BEGINNING, line_digest, lines_of
from audit.ledger.log.heads import encode_head, key_id, sign_head, signed_bytes
from audit.ledger.log.leaves import leaf_header, leaf_of, mark_of
from audit.ledger.log.merkle import root_of
from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id, encode_frame
from audit.ledger.store.rows import quarantine_row
from certs.ledger_keys import key_id as signing_key_id
from control.events import build_event
from control.risk.look_back.events import event_name
from control.risk.look_back.store import document_id
from control.weights.changes.comparison import mark_of as object_mark
from control.weights.changes.store import name_of as known_name
from core.approvals.approvals import account_of, profile_uid, proposal_uid
from core.approvals.profile_widening import profile_digest
from core.approvals.store_narrowing import store_digest
from core.base.ids import stable_id, uuid7
from core.decision.document import projection_digest
from core.decision.sweep_document import sweep_decision_id
from core.egress.pod_labels import egress_labels, label_value
from core.people.subject import Subject, pseudonymous_group, pseudonymous_user
from core.people.two_person import person_of, write_person
from core.policy_bundles import part_name
from core.profiles.container_profiles import build_profile_set, parse_profile
from core.risk.model import identity_key
from core.risk.snapshot_storage import SECRET_NAMES
from core.risk.snapshot_storage import digest_of as shard_digest
from core.weights.access_grants import parse_grant
from core.weights.documents.access import access_id
from core.weights.documents.events import encode_event
from core.weights.documents.roll_calls import build_roll_call
from core.weights.grant_coverage import note_of_grant
from core.weights.stores import parse_store
from egress.render.generated_objects import allow_name, passes_name
from identity.entra.values import kept_event_id
from kube.egress.network_policies import digest_of as policy_digest
from kube.weights.recorded_objects import RecordedObject
from tests.unit.audit.access.detections.callers import stories as callers_stories
from tests.unit.audit.access.detections.changes import stories as changes_stories
from tests.unit.audit.access.detections.credentials import stories as credentials_stories
from tests.unit.audit.access.detections.events import shown
from tests.unit.audit.access.detections.examples import EXAMPLES
from tests.unit.audit.access.detections.logs import stories as logs_stories
from tests.unit.audit.access.detections.management import stories as management_stories
from tests.unit.audit.access.detections.reads import stories as reads_stories

AT_MS: Final = 1_795_262_400_000
ID: Final = "01a1fdfa-4600-741a-844b-d5e85b7c5f0f"
OID: Final = "11111111-2222-4333-8444-555555555555"
PERSON: Final = Subject("Ann@Example.com", "uid", ["b", "a"], {"oid": [OID]})
NAMELESS: Final = Subject("Bob@Example.com", "uid", ["b", "a"], {})
LONG: Final = "x" * 300

TOLD_IN: Final = (
    callers_stories,
    changes_stories,
    credentials_stories,
    logs_stories,
    management_stories,
    reads_stories,
)
"""Importing them notes their examples."""


def findings() -> dict[str, list[Any]]:
    """Return all findings of the stories that the detections' own tests tell, with their ids."""
    return {
        f"{each.detection}: {each.name}": [
            msgspec.json.decode(encode_event(one))
            for one in shown(each.tell(), around=each.around())
        ]
        for each in EXAMPLES
    }


def identifiers() -> dict[str, Any]:
    """Return what is computed, by what it is."""
    return {**_ids(), **_digests(), **_names(), **dict(_ledger()), **_people()}


def _object(kind: str, spec: Mapping[str, Any]) -> bytes:
    metadata = {"name": "evals", "uid": "u-1", "generation": 1}
    if kind == "AccessGrant":
        metadata["namespace"] = "train"
    whole = {"apiVersion": "sallyport.dev/v1alpha1", "kind": kind, "metadata": metadata}
    return msgspec.json.encode(whole | {"spec": spec})


_STORE: Final = {
    "account": "weightsa",
    "containers": [{"name": "checkpoints"}],
    "owner": "training",
    "identities": [{"objectId": OID, "rights": ["read"]}],
}
_GRANT: Final = {
    "store": "frontier",
    "rights": ["read"],
    "reason": "evals",
    "expiresAt": "2026-12-31T18:00:00Z",
    "people": [f"oid:{OID}"],
    "groups": ["b", "a"],
}
_PROFILE: Final = {"description": "d", "rank": 10, "privileges": ["host/network"], "catalogue": 1}
_POLICY: Final = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "p", "labels": {"app.kubernetes.io/managed-by": "sallyport", "a": "b"}},
    "spec": {"podSelector": {}, "policyTypes": ["Egress"], "egress": []},
}


def _ids() -> dict[str, Any]:
    return {
        "id with given bits": uuid7(AT_MS, 12345),
        "id of words": stable_id(AT_MS, "kind", "one", "two"),
        "id of an access": access_id(AT_MS, "account/blob/StorageRead", OID, 1),
        "id of a decision of a sweep": sweep_decision_id(ID, OID),
        "id of a document of a look back": document_id(ID, b"k" * 16),
        "roll call": [
            msgspec.to_builtins(each) for each in build_roll_call("east", [OID, ID], AT_MS, "why")
        ],
        "refused record": msgspec.to_builtins(
            make_refused_record(
                b'{"a":1}', cluster="east", source="logs", place="b.json", reason="r", unix_ms=AT_MS
            )
        ),
        "id of an event of Graph's": kept_event_id("e" * 300),
        "frame id of a decision": decision_frame_id(ID).hex(),
        "approved UID of a profile": profile_uid("u-1"),
        "approved UID of a proposal": proposal_uid("WeightStore", "u-1"),
    }


def _digests() -> dict[str, Any]:
    profile = parse_profile(_object("ContainerProfile", _PROFILE))
    store = parse_store(_object("WeightStore", _STORE))
    grant = parse_grant(_object("AccessGrant", _GRANT))
    recorded = RecordedObject("AccessGrant", "train", "g", "u-1", "d", 1.0, 2.0, spec={"b": 1})
    return {
        "digest of a projection": projection_digest(b'{"containers":[]}'),
        "digest of a profile": profile_digest(profile),
        "revision of profiles": build_profile_set([profile], (1, 34)).revision,
        "digest of a store": store_digest("frontier", store),
        "digest of a store that goes": store_digest("frontier", None),
        "digest of a grant": grant.approvable.digest,
        "approved UID of a grant": grant.approvable.uid,
        "grant as it is noted": note_of_grant(grant),
        "digest of a policy": policy_digest(_POLICY).hex(),
        "digest of a shard of risk": shard_digest(b"content"),
        "digest of a blob": blob_digest("checkpoints", "model/1.bin"),
        "digest of what was read": read_digest(b"content"),
        "mark of a recorded object": object_mark(recorded).hex(),
    }


def _names() -> dict[str, Any]:
    involved = {"uid": "u-1", "name": LONG, "namespace": "train"}
    return {
        "labels of a Pod": egress_labels("llm", ("Deployment", "llm")),
        "label of a long name": label_value(LONG),
        "label of a strange name": label_value("a b/c"),
        "policy of an allowlist": allow_name("evals", 3),
        "policy of an allowlist with a long name": allow_name(LONG, 3),
        "policy of an allowlist's IPv6 networks": allow_name("evals", 3, ipv6=True),
        "policy that lets pass": passes_name("train", LONG, 3),
        "Secrets of risk": list(SECRET_NAMES),
        "ConfigMap of a part of a bundle": part_name(2, 3),
        "ConfigMap of recorded changes": known_name("AccessGrant"),
        "Event of egress": build_event(involved, ("Warning", "Reason", "message"), AT_MS / 1000),
        "Event of an identity at risk": event_name(f"oid:{OID}"),
    }


def _people() -> dict[str, Any]:
    return {
        "person with an object id": PERSON.label,
        "person without": NAMELESS.label,
        "marks of a person": write_person(person_of(PERSON)),
        "marks of one without object id": write_person(person_of(NAMELESS)),
        "account of an approver": msgspec.to_builtins(account_of(PERSON)),
        "unnamed user": pseudonymous_user("ann"),
        "unnamed group": pseudonymous_group("team-a"),
        "key of a person": identity_key(PERSON.label).hex(),
        "key of one without object id": identity_key(NAMELESS.label).hex(),
    }


def _ledger() -> Iterator[tuple[str, Any]]:
    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    leaf = leaf_of(FrameKind.DECISION, "east", b"i" * 16, b"payload")
    yield "header of a leaf", leaf_header(FrameKind.DECISION, "east", b"i" * 16).hex()
    yield "leaf", leaf.hash.hex()
    yield "mark of a leaf", mark_of(leaf.hash).hex()
    root = root_of([leaf.hash, b"o" * 32, b"p" * 32])
    yield "root", root.hex()
    head = sign_head("the log", 3, root, AT_MS, key)
    yield "what a head's signature is over", signed_bytes(head).decode()
    yield "signed head", encode_head(head).decode()
    yield "id of the signing key", key_id(key.public_key())
    yield "id of a public key", signing_key_id(key.public_key().public_bytes_raw())
    lines = list(lines_of(head, b"mark" * 3, 0, BEGINNING))
    yield "anchor lines", [line.decode() for line in lines]
    yield "digest of an anchor line", line_digest(lines[0])
    frame = encode_frame(FrameKind.DECISION, b"i" * 16, b"payload")
    yield "frame", base64.b64encode(frame).decode()
    aside = quarantine_row("east", 20_000, Frame(200, b"i" * 16, b"payload"), "reason")
    yield (
        "row of the quarantine",
        [each.hex() if isinstance(each, bytes) else each for each in aside],
    )
