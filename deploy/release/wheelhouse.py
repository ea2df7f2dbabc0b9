"""The command line as wheels, for a machine that has Python and nothing else."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from deploy.image.wheels import Wheel
from deploy.release.archives import write_tar_gz

PYTHON: Final = "3.11"
"""The locked wheels are for this one (deploy/image/wheels.py)."""

_README: Final = """\
Sallyport's command line, {version}, for Python {python} on Linux ({machine}).

    python{python} -m venv sallyport
    sallyport/bin/pip install --no-index --find-links . --requirement requirements.txt
    sallyport/bin/sallyport --help

Nothing is fetched: all that it needs is in this folder, and each file is checked against its hash.
"""


def write_wheelhouse(
    output: Path, own: Wheel, locked: Sequence[Wheel], epoch: int, machine: str = "amd64"
) -> Path:
    """Write the wheels, with requirements that pin them and a README, as one archive."""
    name = f"sallyport-cli-{own.version}-python{PYTHON}-linux-{machine}"
    wheels = [own, *locked]
    pins = sorted(f"{each.name}=={each.version} --hash=sha256:{each.sha256}" for each in wheels)
    readme = _README.format(version=own.version, python=PYTHON, machine=machine)
    files = {
        f"{name}/README.txt": readme.encode(),
        f"{name}/requirements.txt": ("\n".join(pins) + "\n").encode(),
        **{f"{name}/{each.file.name}": each.file.read_bytes() for each in wheels},
    }
    path = output / f"{name}.tar.gz"
    write_tar_gz(path, files, epoch)
    return path
