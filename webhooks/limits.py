"""Where the webhooks listen, and how much they take, where the settings say nothing else."""

from dataclasses import dataclass
from typing import Final

MAX_BODY_BYTES: Final = 7 * 1024 * 1024
"""Old and new object travel together, each at most etcd's 1.5 MiB and rarely half of it;
7 MiB is what controller-runtime reads (pkg/webhook/admission/http.go)."""


@dataclass(frozen=True)
class ServerSettings:
    """Where to listen, and how to leave."""

    host: str = "127.0.0.1"
    port: int = 9443
    status_host: str = "127.0.0.1"
    status_port: int = 9080
    drain_seconds: float = 5.0
    """Time for endpoints to be taken out while reviews are still answered; 0 on one machine."""
    finish_seconds: float = 20.0
    """The longest that requests in flight are waited for after that."""
    keep_alive_seconds: int = 120
    """Longer than kube-apiserver's 90 s (Go's IdleConnTimeout), so that it closes first."""


@dataclass(frozen=True)
class AppSettings:
    """What the admission routes accept."""

    max_body_bytes: int = MAX_BODY_BYTES
    max_held_bytes: int = 64 * 1024 * 1024
    """Of all bodies that are being read or judged at one time; never less than one body."""
    authenticates: bool = False
    """Whether only who has shown a certificate of the client CA that names kube-apiserver is
    answered."""
    has_other_gates: bool = False
    """Whether others answer behind the same address, of whom one may record what this one cannot.
    """
    log_recorded: bool = True
    """Whether decisions that are recorded get a line in the log too."""
