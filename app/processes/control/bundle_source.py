"""The registry from which `sallyport control` takes policy bundles, as the settings name it."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import msgspec
from prometheus_client import CollectorRegistry

from app.bundles.check import check_bundle
from app.bundles.registry import SETTINGS, read_registry
from app.settings.messages import name_setting
from app.settings.root import Settings
from app.wiring import limits_of
from control.bundles.registry import Image, RegistryImport
from core.base.errors import SettingsError
from core.policy_bundles import GateAnnouncement, PublishedBundle
from kube.client.objects import Objects
from policies.clients.oci_registry import Reference, Registry, fetch, parse_reference, resolve
from policies.trial.process import ProcessTrial


def make_bundle_source(
    settings: Settings, objects: Objects, metrics: CollectorRegistry
) -> RegistryImport | None:
    """Return what takes bundles from the registry of the settings; None where they name none.

    Raises:
        SettingsError: they name no image, no keys, a password without its user, or a file that
            cannot be read.
    """
    source = settings.bundles.source
    if not source.oci:
        return None
    if not (settings.bundles.keys or source.unsigned):
        raise SettingsError(
            f"{name_setting('bundles.source.oci')}: give {name_setting('bundles.keys')}, by one of "
            f"which bundles must be signed, or say {name_setting('bundles.source.unsigned')}"
        )
    _registry(settings)
    named = parse_reference(source.oci, name_setting("bundles.source.oci"))
    return RegistryImport(
        objects, settings.namespace, _image(settings, named), source.interval, metrics
    )


def announce_with_source(
    own: Callable[[], GateAnnouncement], taking: RegistryImport | None
) -> Callable[[], GateAnnouncement]:
    """Return what `control` announces, with what it makes of the registry."""
    if taking is None:
        return own

    def said() -> GateAnnouncement:
        return msgspec.structs.replace(
            own(), source=taking.image.named, source_problem=taking.problem
        )

    return said


def _image(settings: Settings, named: Reference) -> Image:
    async def look() -> str:
        return (await resolve(named, _registry(settings))).digest

    async def get(digest: str) -> bytes:
        return await fetch(replace(named, digest=digest), _registry(settings))

    async def checked(packed: bytes, path: str) -> PublishedBundle:
        trial = ProcessTrial(limits_of(settings.evaluation))  # One that was stopped tries no more.
        try:
            found = await asyncio.to_thread(check_bundle, packed, path, settings, trial)
        except asyncio.CancelledError:
            trial.stop()
            raise
        return found.stored(path)

    return Image(str(named), bool(named.digest), look, get, checked)


def _registry(settings: Settings) -> Registry:
    """Read the password anew each time: it may be replaced while the process runs."""
    source = settings.bundles.source
    return read_registry(source.ca_file, source.username, source.password_file, SETTINGS)
