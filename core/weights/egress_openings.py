"""Egress openings to WeightStores: the summary that `control` writes for the gate."""

from typing import Final

import msgspec

from core.base.json_errors import decode_error, decode_json

FORMAT: Final = 1

EVERY_STORE: Final = "*"
"""In place of a store's name, which never is this: what opens leads to all of them."""


class WeightOpening(
    msgspec.Struct, frozen=True, order=True, rename="camel", gc=False, omit_defaults=True
):
    """Pods of a service account may connect to a store, or past its private endpoints."""

    account: str
    store: str
    """Its name, or `EVERY_STORE`."""
    to: str
    """The endpoint's network, or the name or tag that leads there."""
    allowlist: str
    public: bool = False
    """Whether it leads to public addresses of the account, or may."""
    break_glass: str = ""
    """The BreakGlass that opens it, for every service account, in place of an allowlist."""
    workloads: tuple[str, ...] = ()
    """As the gate's label says them: only Pods of these; none of them for all Pods."""

    def is_of(self, account: str, workload: str) -> bool:
        """Return whether it is of Pods of an account and a workload; an empty one may be any."""
        if self.break_glass:
            return not (self.workloads and workload) or workload in self.workloads
        return self.account == account


class _Summary(msgspec.Struct, frozen=True):
    format: int
    openings: list[WeightOpening] = []


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(_Summary)


def encode_openings(openings: tuple[WeightOpening, ...]) -> str:
    """Return those of one namespace as JSON."""
    return _ENCODER.encode(_Summary(FORMAT, sorted(set(openings)))).decode()


def decode_openings(text: str, what: str) -> tuple[WeightOpening, ...]:
    """Read those of one namespace; `what` names where they stand.

    Raises:
        InvalidObjectError: they cannot be read, or are of another format.
    """
    found = decode_json(_DECODER, text, what)
    if not FORMAT - 1 <= found.format <= FORMAT + 1:
        problem = ValueError(f"{found.format} is none that this release reads - at `$.format`")
        raise decode_error(what, problem)
    return tuple(found.openings)
