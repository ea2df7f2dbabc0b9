"""Names that lead to many owners' addresses are known by their ends, and by whole labels."""

import pytest

from core.egress.dns_names import check_dns_name
from egress.limits.shared_destinations import FRONT_ENDS, SHARED_SERVICES, name_sharing_warning


@pytest.mark.parametrize("end", [*FRONT_ENDS, *SHARED_SERVICES])
def test_each_end_is_a_name_and_is_found(end: str) -> None:
    """Below it and as a wildcard; never of a name that only ends in the same letters."""
    check_dns_name(end, field="f", what="w")
    assert name_sharing_warning(f"a.{end}")
    assert name_sharing_warning(f"a.b.{end}")
    assert name_sharing_warning(f"*.{end}")
    assert not name_sharing_warning(f"a.not{end}")
    assert not name_sharing_warning(f"{end}.example")


def test_no_end_hides_another() -> None:
    """Each name has one owner: an end that lies in another would be told by the longer one."""
    assert not FRONT_ENDS.keys() & SHARED_SERVICES.keys()
    assert "Cloudflare R2" in name_sharing_warning("a.r2.cloudflarestorage.com")


def test_a_wildcard_of_a_service_is_a_way_out() -> None:
    """Every customer's account is behind it, and not only its address."""
    assert "data can leave" in name_sharing_warning("*.blob.core.windows.net")
    assert "private endpoint" in name_sharing_warning("weights.blob.core.windows.net")
    assert not name_sharing_warning("packages.example.org")
    assert not name_sharing_warning("*")
