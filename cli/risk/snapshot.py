"""Where `sallyport risk` has the snapshot and the table from."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from app.settings.identity import IdentitySection
from app.settings.root import Settings
from core.base.errors import ClusterError, SettingsError
from core.risk.snapshot import RiskSnapshot
from identity.risk.principals import GUID
from identity.risk.standings import Freshness
from identity.risk.table import CONFIG_MAP, LABEL_VALUE, SHIPPED, RiskTable, parse_table
from kube.client.objects import open_objects
from kube.cluster.folder import FolderCluster
from kube.risk.store import RiskStore

SITES_TABLE: Final = f"ConfigMap {CONFIG_MAP}"
"""Whose table is the site's, for people."""


async def read_snapshot(settings: Settings) -> RiskSnapshot:
    """Return the snapshot that a cluster has stored.

    Raises:
        SettingsError: no cluster is named.
        ClusterError: it does not answer, or has none.
    """
    if settings.cluster is not None:
        found = FolderCluster(settings.cluster).risk()
        where = f"--cluster {settings.cluster}"
    elif settings.kubeconfig is not None:
        async with open_objects(settings.kubeconfig) as objects:
            found = await RiskStore(objects, settings.namespace).read()
        where = f"namespace {settings.namespace}"
    else:
        raise SettingsError("say which cluster: give --kubeconfig FILE or --cluster DIR")
    if found is None or found.head.version == 0:
        message = (
            f"{where} has no risk snapshot that can be read: identity.enabled is off, control has "
            "not written one yet, or SALLYPORT_NAMESPACE names another namespace"
        )
        raise ClusterError(message)
    return found


def namespace_class_of(word: str) -> str:
    """Return a class of namespaces as it was typed.

    Raises:
        SettingsError: no label can hold it, so no namespace is of that class.
    """
    if not LABEL_VALUE.fullmatch(word):
        raise SettingsError(
            "--namespace-class: give the value of a namespace's label sallyport.dev/risk-class: up "
            "to 63 letters, digits and . _ -"
        )
    return word


def groups_of(ids: Iterable[str]) -> frozenset[str]:
    """Return groups as they were typed, in lower case.

    Raises:
        SettingsError: one is no object id.
    """
    groups = frozenset(map(str.lower, ids))
    if not all(map(GUID.fullmatch, groups)):
        raise SettingsError("--group: give the object id of a group, a GUID; names are not known")
    return groups


def freshness_of(section: IdentitySection, snapshot: RiskSnapshot) -> Freshness:
    """Return the limits of age of the settings here; the tenant is the snapshot's."""
    return Freshness(section.max_age, section.revoked_for, section.tenant or snapshot.head.tenant)


def table_in_force(snapshot: RiskSnapshot) -> RiskTable:
    """Return the table by which gates decide.

    Raises:
        InvalidObjectError: the stored one cannot be read by this release.
    """
    return parse_table(snapshot.head.table, SITES_TABLE)


async def find_table(settings: Settings, file: Path | None) -> tuple[RiskTable, str]:
    """Return a file's table, else the one in force in a cluster, else the shipped one; and whose.

    Raises:
        SettingsError: the file cannot be read.
        InvalidObjectError: naming row, field and fix.
        ClusterError: the cluster does not answer, or has no snapshot.
    """
    if file is not None:
        return read_table(file), str(file)
    if settings.cluster is None and settings.kubeconfig is None:
        return SHIPPED, ""
    return table_in_force(await read_snapshot(settings)), SITES_TABLE


def read_table(file: Path) -> RiskTable:
    """Return the table of a file, with the shipped rows behind its own.

    Raises:
        SettingsError: the file cannot be read.
        InvalidObjectError: naming row, field and fix.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"--file {file}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise SettingsError(f"--file {file}: is not UTF-8") from None
    return parse_table(text, str(file))
