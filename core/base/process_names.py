"""Names of Sallyport's processes in a cluster."""

from typing import Final

CONTROL: Final = "sallyport-control"
"""The name of the process `control` in a cluster: of its service account and its Lease, as a field
manager, and as the component of its Events."""


def process_uri(cluster: str, process: str) -> str:
    """Return the URI by which the certificate of a cluster's process shows what it is.

    The process is `gate` or `control`; a gate's may name its Pod, `gate/POD`.
    The auditor takes from each process the kinds of record that are its own
    (`audit.ledger.server.recorded_kinds`).
    """
    return f"sallyport://{cluster}/{process}"
