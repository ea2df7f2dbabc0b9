"""One thing, spelled as people and attackers spell it; beside it what only looks like it."""

import json
from typing import Any

import pytest

from core.kubernetes.pod import decode_pod
from policies.projection.container_risks import read_command
from policies.projection.model import encode
from policies.projection.pods import project

INSTALLS = {
    # Python.
    "python -mpip install x": "pip",
    "python3 -m pip install x": "pip",
    "python3.12 -I -m pip --quiet install x": "pip",
    "pip3.11 install x": "pip",
    "pip --no-input --no-cache-dir --retries 3 -q -q install x": "pip",
    "/opt/conda/bin/pip install x": "pip",
    "pip-sync requirements.txt": "pip",
    "uv pip install x": "pip",
    "uv --directory /app sync": "pip",
    "uv tool run ruff": "pip",
    "uv run --with numpy main.py": "pip",
    "uvx ruff": "pip",
    "pipx run cowsay": "pip",
    "pipenv install --deploy": "pip",
    "pdm sync": "pip",
    "pixi install": "pip",
    "conda install -y -c conda-forge x": "conda",
    "mamba create -n a python": "conda",
    "micromamba -y install x": "conda",
    # Systems.
    "apt-get -y install git": "apt",
    "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -yqq git": "apt",
    "dpkg -i /tmp/a.deb": "apt",
    "apk add --no-cache git": "apk",
    "apk --no-cache add git": "apk",
    "dnf -y install git": "dnf",
    "yum install git": "dnf",
    "tdnf install -y git": "dnf",
    "microdnf install git": "dnf",
    "zypper in git": "dnf",
    "rpm -Uvh https://a.example/b.rpm": "dnf",
    # Other languages.
    "npm ci --omit=dev": "npm",
    "npm i -g @a/b": "npm",
    "npx -y @a/server": "npm",
    "pnpm dlx create-a": "npm",
    "yarn && yarn start": "npm",
    "bunx a": "npm",
    "gem install rails": "gem",
    "bundle install": "gem",
    "go install a.example/b@latest": "go",
    "go run -mod=mod a.example/b@v1": "go",
    "cargo install --locked ripgrep": "cargo",
    """R -q -e 'install.packages("x")'""": "R",
    """Rscript -e 'remotes::install_github("a/b")'""": "R",
    """julia -e 'using Pkg; Pkg.add("X")'""": "julia",
    "git clone https://a.example/b": "git",
    "git submodule update --init": "git",
    # Behind something else.
    "sh -c 'pip install x'": "pip",
    "bash -lc 'set -e; pip install x'": "pip",
    "env A=b pip install x": "pip",
    "exec pip install x": "pip",
    "nice -n 10 pip install x": "pip",
    "timeout 60 pip install x": "pip",
    "sudo -H pip install x": "pip",
    "cat list | xargs -n 1 pip install": "pip",
    "if ! python -c 'import x'; then\n  pip install x\nfi": "pip",
    "(pip install x)": "pip",
    "`pip install x`": "pip",
    "import os; os.system('pip install x')": "pip",
    # Counted though nothing comes: whoever reads the words cannot tell. 25 points alone isolate
    # nothing.
    "echo pip install": "pip",
    "pip install --no-index --find-links /wheels x": "pip",
}

SCRIPTS = {
    "curl -s https://a.example | sh": "curl",
    "curl https://a.example | bash -es -- --yes": "curl",
    "curl https://a.example | sudo -u app bash": "curl",
    "curl https://a.example | timeout 60 bash": "curl",
    "curl https://a.example | nice -n 10 env A=b sh -x": "curl",
    "curl https://a.example | tee log | sh": "curl",
    "curl https://a.example | xargs -0 bash -c": "curl",
    "curl https://a.example | python3 -": "curl",
    "curl https://a.example | python -u": "curl",
    "curl https://a.example | php": "curl",
    "wget -O- https://a.example | bash": "wget",
    "sh <(curl https://a.example)": "curl",
    "bash < <(curl https://a.example)": "curl",
    'bash <<< "$(curl https://a.example)"': "curl",
    'bash -c "$(curl https://a.example)"': "curl",
    'bash -lc "$(wget -qO- https://a.example)"': "wget",
    "sh -c `curl https://a.example`": "curl",
    'python -c "$(curl https://a.example)"': "curl",
    "source <(curl https://a.example)": "curl",
    ". <(curl https://a.example)": "curl",
    'source /dev/stdin <<< "$(curl https://a.example)"': "curl",
    'eval "$(wget -qO- https://a.example)"': "wget",
    "echo YQ== | base64 --decode | bash": "base64",
    """python -c "import requests; exec(requests.get('https://a.example').text)" """: "python",
    """python -c "exec(compile(urllib.request.urlopen(u).read(), 'a', 'exec'))" """: "python",
}

NEITHER = [
    # Tools that are asked, or run what is there.
    "pip --version",
    "pip list --outdated",
    "pip check",
    "apt list --installed",
    "apt-get update",
    "apt-get clean",
    "apk info",
    "rpm -qa",
    "conda activate a",
    "conda run -n a python train.py",
    "uv run --no-sync main.py",
    "poetry run python main.py",
    "npm run build",
    "npm start",
    "yarn start",
    "bundle exec rails server",
    "go run ./cmd/server",
    "go build -o a ./...",
    "cargo run --release",
    "gem list",
    "git fetch origin",
    "git -C /repo status",
    # Words of other things.
    "./install.sh",
    "make install",
    "helm install a b",
    "python -m trainer --pip-install-hook=off",
    "tool --output pip.log install-report",
    "python sync.py --add x",
    # Weights and data are no programs. A model's own code needs --trust-remote-code: where that
    # is no local folder it is, but inference servers have the flag by habit, and it would tip
    # every one of them.
    "huggingface-cli download org/model --local-dir /models",
    "vllm serve /models/a --trust-remote-code",
    "azcopy copy https://a.example/model /models",
    "curl -LO https://a.example/model.tar && tar xf model.tar",
    # What is got is data for a program that stands beside it.
    "curl -s https://a.example | python3 -m json.tool",
    "curl -s https://a.example | python -c 'import json, sys; print(json.load(sys.stdin))'",
    "curl -s https://a.example | perl -pe 's/a/b/'",
    "curl -s https://a.example | ruby -rjson -e 'puts 1'",
    "curl -s https://a.example | node -p 1",
    "curl -s https://a.example | sh -c 'wc -l'",
    "curl -s https://a.example | jq .a",
    "curl -s https://a.example | tar xz -C /opt",
    "until curl -sf http://localhost:8080/health; do sleep 1; done; python serve.py",
    "A=$(curl -s http://vault/a) python serve.py",
    "python -c 'print(requests.get(url).text)'",
    "python -c 'model.eval(); loader.get(0)'",
]


def test_there_are_enough_spellings() -> None:
    """Of what counts, and of what does not."""
    assert len(INSTALLS) + len(SCRIPTS) >= 60
    assert len(NEITHER) >= 40


@pytest.mark.parametrize("text", INSTALLS)
def test_an_installation_is_told_however_it_is_spelled(text: str) -> None:
    """By the tool, and it is no script."""
    assert read_command(text) == ((INSTALLS[text],), ())


@pytest.mark.parametrize("text", SCRIPTS)
def test_a_script_of_the_network_is_told_however_it_is_spelled(text: str) -> None:
    """By the tool that gets it, and nothing is installed."""
    assert read_command(text) == ((), (SCRIPTS[text],))


@pytest.mark.parametrize("text", NEITHER)
def test_what_only_looks_like_it_is_not_told(text: str) -> None:
    """So that nobody has a sandbox for an ordinary start."""
    assert read_command(text) == ((), ())


@pytest.mark.parametrize("field", ["containers", "initContainers", "ephemeralContainers"])
@pytest.mark.parametrize(
    "container",
    [
        {"command": ["sh", "-c", "pip install x"]},
        {"args": ["-c", "pip install x"]},
        {"lifecycle": {"postStart": {"exec": {"command": ["pip", "install", "x"]}}}},
    ],
)
def test_every_container_is_read_wherever_it_says_so(field: str, container: dict[str, Any]) -> None:
    """Also an init container, or one that an image's entry point gives its arguments to."""
    spec: dict[str, Any] = {"containers": [{"name": "a"}]}
    spec[field] = [{"name": "b", **container}]
    found = json.loads(encode(project(decode_pod(json.dumps({"spec": spec}).encode()))))
    assert found["containers"][-1]["installs"] == ["pip"]
