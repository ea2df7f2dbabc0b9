"""The records of CAs and signing keys, as they lie in Secrets."""

import datetime as dt
import json

import pytest

from certs.authority import KeyPair, make_authority, validity
from certs.ledger_keys import LedgerKeySettings, plan_ledger_keys
from certs.rotation import Authority, Leaf
from control.certificates.signing_keys import read_keys, write_keys
from control.certificates.store import (
    read_leaf,
    read_record,
    wanted_leaves,
    write_leaf,
    write_record,
)
from core.base.errors import ClusterError
from kube.resources.secrets import Secret

NOW = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)


def test_the_record_of_the_authorities_is_read_as_it_was_written() -> None:
    """With and without key, distributed or not."""
    pair = make_authority("CA", validity(NOW, dt.timedelta(days=1)))
    authorities = (
        Authority(pair.certificate),
        Authority(pair.certificate, pair.key, NOW, NOW + dt.timedelta(days=1)),
    )
    assert read_record(write_record(authorities)) == authorities


@pytest.mark.parametrize(
    "content", [b"", b"junk", b"\xff", b"[]", b"{}", b'{"authorities":[{"certificate":1}]}']
)
def test_a_broken_record_counts_as_none(content: bytes) -> None:
    """It is made anew."""
    assert read_record(content) == ()


def test_a_record_of_the_next_release_is_read_and_one_beyond_is_left_alone() -> None:
    """Overwriting it would lose what this release does not know."""
    record = json.loads(write_record(()))
    assert read_record(json.dumps(record | {"format": 2, "new": 1}).encode()) == ()
    with pytest.raises(ClusterError, match="format 3 of a later release"):
        read_record(json.dumps(record | {"format": 3}).encode())


def test_a_distribution_that_is_no_time_counts_as_none() -> None:
    """Whoever wrote it."""
    content = b'{"authorities":[{"certificate":"c","distributed":999999999999999999}]}'
    assert read_record(content) == (Authority(b"c"),)


def test_a_leaf_is_read_as_it_was_written_and_what_is_missing_is_empty() -> None:
    """The names are those of kubernetes.io/tls."""
    leaf = Leaf(KeyPair(b"c", b"k"), b"b")
    assert write_leaf(leaf) == {"tls.crt": b"c", "tls.key": b"k", "ca.crt": b"b"}
    assert read_leaf(Secret("1", write_leaf(leaf))) == leaf
    assert read_leaf(Secret("1", {})) == Leaf(KeyPair(b"", b""), b"")


def test_signing_keys_are_read_as_they_were_written() -> None:
    """Private and public parts, and their times."""
    keys = plan_ledger_keys(None, NOW, LedgerKeySettings())
    later = plan_ledger_keys(keys, NOW + dt.timedelta(days=350), LedgerKeySettings())
    for each in (keys, later):
        assert read_keys(Secret("1", write_keys(each))) == each
    assert b"PRIVATE" not in write_keys(later)["public.json"]


def test_one_broken_public_key_costs_no_other() -> None:
    """Nor does a key whose id is another's."""
    keys = plan_ledger_keys(None, NOW, LedgerKeySettings())
    content = write_keys(keys)
    public = json.loads(content["public.json"])
    public["keys"] += [{"id": "x"}, 7, public["keys"][0] | {"id": "0" * 64}]
    public["keys"] += [public["keys"][0] | {"since": "2026-03-01T00:00:00"}]
    found = read_keys(Secret("1", content | {"public.json": json.dumps(public).encode()}))
    assert found == keys


def test_signing_keys_of_a_later_release_are_left_alone() -> None:
    """As the record of the CAs."""
    with pytest.raises(ClusterError, match="format 3 of a later release"):
        read_keys(Secret("1", {"public.json": b'{"keys":[],"format":3}'}))


def test_leaves_name_services_and_processes() -> None:
    """As kube-apiserver and the auditor ask for them."""
    wanted = wanted_leaves("ns", "prod-1")
    assert wanted["sallyport-gate-tls"].hosts[0] == "sallyport-gate.ns.svc"
    assert wanted["sallyport-shipping-control"].uris == ("sallyport://prod-1/control",)
    assert len(wanted) == 4
