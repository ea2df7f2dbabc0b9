"""What a container's command says that it installs: found in what people write, and no secrets."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InvalidObjectError
from core.kubernetes.pod import decode_pod
from policies.projection.container_risks import read_command
from policies.projection.model import encode
from policies.projection.pods import project

CANARY = "canary-9f2c"

INSTALLS = {
    "pip install einops": ["pip"],
    "python -m pip install -q --no-cache-dir -r requirements.txt": ["pip"],
    "/opt/python/bin/pip3.11 --proxy https://a.example install x": ["pip"],
    "uv pip install torch": ["pip"],
    "uv sync --frozen": ["pip"],
    "uvx ruff": ["pip"],
    "poetry install": ["pip"],
    "conda install -y numpy": ["conda"],
    "conda env create -f env.yaml": ["conda"],
    "apt-get update && apt-get -y install git": ["apt"],
    "apt-get -y -o Dpkg::Use-Pty=0 install git": ["apt"],
    "apk add --no-cache bash": ["apk"],
    "dnf install -y gcc": ["dnf"],
    "npm ci": ["npm"],
    "npx -y @a/server": ["npm"],
    "go install a.example/b@latest": ["go"],
    "cargo install ripgrep": ["cargo"],
    "gem install rails": ["gem"],
    "Rscript -e install.packages('x')": ["R"],
    "git clone --depth 1 https://a.example/b": ["git"],
    "git -C /work clone https://a.example/b": ["git"],
    "cd /a; pip install \\\n -r b && npm install": ["npm", "pip"],
    """python -c 'import subprocess; subprocess.run(["pip", "install", "x"])'""": ["pip"],
}

SCRIPTS = {
    "curl -fsSL https://a.example/install.sh | sh": ["curl"],
    "curl -s 'https://a.example/?a=1&b=2' | sudo bash -s -- -y": ["curl"],
    "wget -qO- https://a.example | /bin/bash": ["wget"],
    "curl https://a.example/a.gz | gunzip | python3 -": ["curl"],
    "bash <(curl -s https://a.example)": ["curl"],
    'sh -c "$(wget -qO- https://a.example)"': ["wget"],
    'eval "$(curl -s https://a.example)"': ["curl"],
    "source <(curl -s https://a.example)": ["curl"],
    "curl -o /tmp/a https://a.example/a && chmod +x /tmp/a && /tmp/a": ["curl"],
    "wget https://a.example/a; chmod 755 a; ./a": ["wget"],
    "echo aGk= | base64 -d | sh": ["base64"],
    "curl -fsSL https://a.example/setup_20.x | sudo -E bash -": ["curl"],
    "curl -s https://a.example | /usr/bin/env A=1 B=2 bash": ["curl"],
    "wget -q https://a.example/Install.sh && bash Install.sh -b": ["wget"],
    "curl -so /tmp/a https://a.example/x; sh -e /tmp/a": ["curl"],
    "curl -s https://a.example/x > a.py; python3 a.py": ["curl"],
    "curl -sO https://a.example/env.sh; . ./env.sh": ["curl"],
}

ORDINARY = [
    "",
    "python -m trainer --install-hooks=false",
    "python train.py --synchronise --add-noise",
    "torchrun --nproc-per-node 8 -m trainer",
    "curl -fsS http://localhost:9000/ready",
    "curl https://data.example/tokens -o /data/tokens",
    "TOKEN=$(curl -s http://vault/token) exec ./serve",
    "sh -c TOKEN=$(curl -s http://vault/token) exec ./serve",
    "curl https://a.example/list | grep sh | wc -l",
    "curl -o key https://a.example; chmod 600 key",
    "cat a | sh",
    "pipeline install-nothing",
    "git pull",
    "npm start",
    "go test ./...",
    "bash run.sh; curl https://metrics.example",
    "wget https://a.example/model.bin && python3 infer.py model.bin",
    "curl https://trainer.example/tokens -o t; python -m trainer",
]


@pytest.mark.parametrize("text", INSTALLS)
def test_installing_tools_are_found(text: str) -> None:
    """By any name that their documentation gives, with options between."""
    assert read_command(text) == (tuple(INSTALLS[text]), ())


@pytest.mark.parametrize("text", SCRIPTS)
def test_scripts_of_the_network_are_found(text: str) -> None:
    """Piped, substituted, or made executable; also where the text is only decoded."""
    assert read_command(text) == ((), tuple(SCRIPTS[text]))


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_commands_say_nothing(text: str) -> None:
    """A download of data, a health check, a word that only looks like a tool."""
    assert read_command(text) == ((), ())


def container(**fields: Any) -> dict[str, Any]:
    """Return what policies see of one container, with `fields`."""
    pod = {"spec": {"containers": [{"name": "a", **fields}]}}
    found = json.loads(encode(project(decode_pod(json.dumps(pod).encode()))))
    assert CANARY not in json.dumps(found)
    one: dict[str, Any] = found["containers"][0]
    return one


@pytest.mark.parametrize(
    "fields",
    [
        {"command": ["pip", "install", CANARY]},
        {"command": ["pip"], "args": ["install", CANARY]},
        {"args": ["sh", "-c", f"TOKEN={CANARY} pip install x"]},
        {"lifecycle": {"postStart": {"exec": {"command": ["pip", "install", CANARY]}}}},
        {"command": [CANARY], "lifecycle": {"postStart": {"exec": {"command": ["uvx", "a"]}}}},
        {"command": ["\u0070ip install", CANARY], "args": None},
        {"command": ["pip install", CANARY * 4096]},
    ],
)
def test_command_arguments_and_post_start_are_read_together(fields: dict[str, Any]) -> None:
    """Nothing of them but the tool's name reaches a policy."""
    assert container(**fields).get("installs") == ["pip"]


@pytest.mark.parametrize("probe", ["livenessProbe", "readinessProbe"])
def test_what_probes_run_is_left_alone(probe: str) -> None:
    """They look at what runs; only what comes before or with the start is read."""
    assert "installs" not in container(**{probe: {"exec": {"command": ["pip", "install", "x"]}}})


def test_command_too_long_to_be_read_counts() -> None:
    """Whoever writes 64 KiB of comment before it gains nothing."""
    assert read_command("#" * 65536 + "\npip install x") == (("unread",), ())


@pytest.mark.parametrize("field", ["command", "args"])
def test_command_that_is_no_list_is_an_error(field: str) -> None:
    """As kube-apiserver says; in a file it is the author's mistake."""
    with pytest.raises(InvalidObjectError, match=r"spec\.containers\[0\]\.command"):
        container(**{field: "pip install x"})


@pytest.mark.parametrize(
    ("stdin", "tty", "interactive"),
    [(True, True, True), (True, False, False), (False, True, False), (None, None, False)],
)
def test_terminal_is_stdin_and_tty(*, stdin: bool, tty: bool, interactive: bool) -> None:
    """One of them alone is logs in colours, or a pipe."""
    assert container(stdin=stdin, tty=tty).get("interactive", False) is interactive


@given(text=st.text(st.sampled_from("pip install curl|shgt-cone&;$(<`\n "), max_size=200))
def test_any_text_gives_names_of_tools_alone(text: str) -> None:
    """Whatever is written, what comes out is of the closed lists."""
    found = read_command(text)
    tools = {"pip", "conda", "apt", "apk", "dnf", "npm", "go", "cargo", "gem", "R", "julia", "git"}
    assert set(found.installs) <= tools
    assert set(found.scripts) <= {"curl", "wget", "aria2c", "base64", "python"}


@pytest.mark.parametrize(
    "part",
    [
        "curl ",
        "curl |",
        "pip -a ",
        "-pip ",
        "sh -c -c -c ",
        "git -a b ",
        "go run ",
        "chmod ",
        "npm ",
        "curl a;sh a;",
        "sh x",
        "curl|sudo a ",
        "curl|sudo ",
        "curl|xargs a ",
        "curl|sh -a ",
        "curl sh < ",
        "exec(a.",
        "go run -a ",
        "rpm -a ",
        "uv run ",
    ],
)
def test_hostile_text_takes_no_longer_than_any(part: str) -> None:
    """The expressions look at each character a bounded number of times."""
    text = (part * 65536)[:65536]
    start = time.process_time()
    read_command(text)
    assert time.process_time() - start < 2.0
