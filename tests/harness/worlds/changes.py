"""One value for one field, and the fields that a Pod's and a container's security share.

Source: k8s.io/pod-security-admission v0.36.3, policy/check_*.go; fields are spelled as in
the comments there. A value is not marked as allowed or forbidden: kube-apiserver says that.
"""

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final


class Special(enum.Enum):
    """Values that JSON has no word for."""

    UNSET = "unset"


UNSET: Final = Special.UNSET
APPEND: Final = "-"
"""As the last step of a path: add to the list there (RFC 6902)."""


@dataclass(frozen=True, slots=True)
class Change:
    """One value for one field: set what lies at `path` to `value`.

    `field` is the field that is meant, for instance `ports[*].hostPort`, where `path` may
    lead to a whole that holds it. Both are relative to a container or to the Pod.
    """

    field: str
    path: tuple[str, ...]
    value: Any

    def applied(self, root: dict[str, Any]) -> None:
        """Make the change in place, making the maps on the way where there are none."""
        at: Any = root
        *way, last = self.path
        if last == APPEND:
            *way, listed = way
        for step in way:
            at[step] = at.get(step) or {}
            at = at[step]
        if last == APPEND:
            at[listed] = [*(at.get(listed) or []), self.value]
        elif self.value is UNSET:
            at.pop(last, None)
        else:
            at[last] = self.value


def set_each(field: str, values: Iterable[Any]) -> Iterator[Change]:
    """Yield a change of the field itself for each value."""
    path = tuple(field.split("."))
    return (Change(field, path, value) for value in values)


BOOLEANS: Final = (True, False, None, UNSET)
_SECCOMP_TYPES: Final[tuple[Any, ...]] = (
    {"type": "RuntimeDefault"},
    {"type": "Localhost", "localhostProfile": "profiles/a.json"},
    {"type": "Unconfined"},
    None,
    UNSET,
    # Refused by the API's own validation:
    {},
    {"type": ""},
    {"type": "runtime/default"},
    {"type": "Localhost"},
)
_APPARMOR: Final[tuple[Any, ...]] = (
    {"type": "RuntimeDefault"},
    {"type": "Localhost", "localhostProfile": "k8s-a"},
    {"type": "Unconfined"},
    None,
    UNSET,
    {},
    {"type": "Localhost"},
)
_SELINUX: Final[tuple[Any, ...]] = (
    *(
        {"type": name}
        for name in (
            "", "container_t", "container_init_t", "container_kvm_t", "container_engine_t",
            "spc_t", "Container_t", "container_t ",
        )
    ),
    {},
    {"type": None, "user": None, "role": None},
    {"level": "s0:c123,c456"},
    None,
    UNSET,
)  # fmt: skip
_WINDOWS: Final[tuple[Any, ...]] = (
    {"hostProcess": True},
    {"hostProcess": False},
    {"hostProcess": None},
    {"runAsUserName": "ContainerUser"},
    {},
    None,
    UNSET,
)


def security(prefix: str) -> Iterator[Change]:
    """Yield what a Pod's and a container's security context have in common."""
    yield from set_each(f"{prefix}runAsNonRoot", BOOLEANS)
    yield from set_each(f"{prefix}runAsUser", (0, 1, 65_534, None, UNSET))
    path = tuple(prefix.rstrip(".").split("."))
    for whole, part, values in (
        ("seccompProfile", "type", _SECCOMP_TYPES),
        ("appArmorProfile", "type", _APPARMOR),
        ("seLinuxOptions", "type", _SELINUX),
        ("windowsOptions", "hostProcess", _WINDOWS),
    ):
        for value in values:
            yield Change(f"{prefix}{whole}.{part}", (*path, whole), value)
    for part in ("user", "role"):
        yield from set_each(f"{prefix}seLinuxOptions.{part}", ("", "a_u", "system_u"))
