"""Opens where logs of storage come from: the settings' sources, or what a command line names."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from app.entra_tokens import token_for
from app.settings.messages import name_setting
from app.settings.root import Settings
from app.settings.weights import demand_whole
from audit.access.model.batch import LogSource
from audit.access.sources.files import BlobFolder, LogFiles, StandardInput
from audit.access.sources.hourly_blobs import HourlyBlobs, HourlySettings
from audit.clients.log_hub import LogHub, LogHubSettings
from audit.clients.storage_blobs import Containers, ContainerSettings
from core.base.errors import SettingsError, SourceError

_STDIN: Final = "-"
_SIGNING_IN: Final = "signing in to read logs"


def cluster_of(settings: Settings) -> str:
    """Give the cluster whose logs they are.

    Raises:
        SettingsError: nothing says it.
    """
    if not settings.cluster_id:
        name = name_setting("cluster_id")
        raise SettingsError(f"{name}: missing; name the cluster whose Pods read the weights")
    return settings.cluster_id


def named_sources(names: Sequence[str], cluster: str) -> list[LogSource]:
    """Give what a command line names: files, folders of exported logs, `-`. They end.

    Raises:
        SettingsError: something that is named is not there.
    """
    sources: list[LogSource] = []
    files: list[Path] = []
    for name in names:
        path = Path(name)
        if name == _STDIN:
            sources.append(StandardInput("stdin", cluster))
        elif path.is_dir():
            once = HourlySettings(follow=False)
            sources.append(HourlyBlobs(str(path.resolve()), cluster, BlobFolder(path), once))
        elif path.is_file():
            files.append(path)
        else:
            raise SettingsError(f"{name}: there is no such file or folder")
    return [*sources, *([LogFiles("files", cluster, files)] if files else [])]


def followed_sources(settings: Settings, stack: AsyncExitStack) -> list[LogSource]:
    """Give the sources of the settings, which never end; `stack` closes what they hold.

    Raises:
        SettingsError: one cannot be what it is said to be.
    """
    section, cluster = settings.weights, cluster_of(settings)
    demand_whole(section)
    sources: list[LogSource] = []
    hourly = HourlySettings(poll_s=section.poll_every)
    if section.folder is not None:
        sources.append(HourlyBlobs("folder", cluster, BlobFolder(section.folder), hourly))
    if section.container.site:
        place = section.container
        wanted = ContainerSettings(place.site, tuple(place.containers), place.trust)
        containers = Containers(wanted, token_for(_SIGNING_IN, SourceError, settings, stack))
        stack.push_async_callback(containers.close)
        sources.append(HourlyBlobs("container", cluster, containers, hourly))
    hub = section.event_hub
    if hub.servers:
        wanted_hub = LogHubSettings(
            tuple(hub.servers), tuple(hub.topics), hub.connection_string_file, hub.trust
        )
        token = (
            None
            if hub.connection_string_file
            else token_for(_SIGNING_IN, SourceError, settings, stack)
        )
        sources.append(LogHub("event-hub", cluster, wanted_hub, token))
    return sources
