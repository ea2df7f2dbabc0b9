"""Names that lead to many owners' addresses are known by their ends, and by whole labels."""

import pytest

from core.egress.dns_names import check_dns_name
from egress.limits.front_ends import FRONT_ENDS, SERVICES, shared_by


@pytest.mark.parametrize("end", [*FRONT_ENDS, *SERVICES])
def test_each_end_is_a_name_and_is_found(end: str) -> None:
    """Below it and as a wildcard; never of a name that only ends in the same letters."""
    check_dns_name(end, field="f", what="w")
    assert shared_by(f"a.{end}")
    assert shared_by(f"a.b.{end}")
    assert shared_by(f"*.{end}")
    assert not shared_by(f"a.not{end}")
    assert not shared_by(f"{end}.example")


def test_no_end_hides_another() -> None:
    """Each name has one owner: an end that lies in another would be told by the longer one."""
    assert not FRONT_ENDS.keys() & SERVICES.keys()
    assert "Cloudflare R2" in shared_by("a.r2.cloudflarestorage.com")


def test_a_wildcard_of_a_service_is_a_way_out() -> None:
    """Every customer's account is behind it, and not only its address."""
    assert "data can leave" in shared_by("*.blob.core.windows.net")
    assert "private endpoint" in shared_by("weights.blob.core.windows.net")
    assert not shared_by("pypi.org")
    assert not shared_by("*")
