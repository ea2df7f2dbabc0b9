"""The program that tries connections from inside a container, and what it prints.

It is sent as one `sh -c` and needs one of python3, bash with timeout, nc with -z, or busybox's nc.
"""

from collections.abc import Sequence
from typing import Final

from egress.analysis.verification import Probe, ProbeFinding

NO_TOOL: Final = 3
"""The exit code where the container has nothing to connect with."""

_PYTHON: Final = """
import errno,socket,sys,threading
def t(n,h,p,s):
    try:
        socket.create_connection((h,int(p)),float(s)).close(); r="open"
    except ConnectionRefusedError: r="refused"
    except socket.gaierror: r="noname"
    except (TimeoutError,socket.timeout): r="timeout"
    except OSError as e:
        r="unreachable" if e.errno in (errno.EHOSTUNREACH,errno.ENETUNREACH,errno.EACCES,errno.EPERM) else "error"
    sys.stdout.write("%s %s\\n"%(n,r))
a=sys.argv; w=[threading.Thread(target=t,args=(*a[i:i+3],a[1])) for i in range(2,len(a),3)]
[x.start() for x in w]; [x.join() for x in w]
"""  # noqa: E501 (a program, as it is sent)

_SHELL: Final = """
if command -v python3 >/dev/null 2>&1; then echo tool python3; python3 -c "$0" "$@"; echo end; exit 0; fi
s=$1; shift
if command -v bash >/dev/null 2>&1 && command -v timeout >/dev/null 2>&1; then u=bash
elif command -v nc >/dev/null 2>&1; then
  case "$(nc -h 2>&1)" in *-z*) u=nc;; *"-e PROG"*) u=busybox;; *) exit 3;; esac
else exit 3; fi
echo tool $u
one() {
  if [ $u = bash ]; then
    m=$(timeout $s bash -c 'exec 3<>/dev/tcp/$0/$1' "$2" "$3" 2>&1); c=$?
    case "$c $m" in
      0*) r=open;; 124*|143*) r=timeout;; *refused*) r=refused;;
      *resol*|*"not known"*) r=noname;; *nreachable*|*"No route"*|*ermi*) r=unreachable;; *) r=error;;
    esac
  else
    if [ $u = nc ]; then m=$(nc -z -w $s "$2" "$3" </dev/null 2>&1); c=$?
    else m=$(nc -w $s "$2" "$3" -e true </dev/null 2>&1); c=$?; fi
    case "$c $m" in
      0*) r=open;; *"bad address"*|*resol*) r=noname;; *refused*) r=refused;; *"timed out"*) r=timeout;;
      *nvalid*|*usage*|*Usage*|*"can't execute"*) r=error;; *nreachable*|*ermi*) r=unreachable;;
      *) r=closed;;
    esac
  fi
  echo "$1 $r"
}
while [ $# -ge 3 ]; do one "$1" "$2" "$3" & shift 3; done
wait
echo end
"""  # noqa: E501 (a program, as it is sent)

_WORDS: Final[dict[str, ProbeFinding]] = {
    "open": "open",
    "refused": "refused",
    "timeout": "timeout",
    "unreachable": "unreachable",
    "closed": "closed",
    "noname": "noname",
    "error": "error",
}


def probe_command(probes: Sequence[Probe], timeout_s: int) -> list[str]:
    """Return the command that tries connections, all at once, each for so many seconds."""
    words = [
        word
        for index, probe in enumerate(probes)
        for word in (str(index), probe.host, str(probe.port))
    ]
    return ["sh", "-c", _SHELL.strip(), _PYTHON.strip(), str(timeout_s), *words]


def read_probe_output(out: str, count: int) -> tuple[str, list[ProbeFinding]]:
    """Return the tool that was used, and what was found of each.

    `untried` where nothing was said.
    """
    found: list[ProbeFinding] = ["untried"] * count
    tool = ""
    for line in out.splitlines():
        first, _, rest = line.strip().partition(" ")
        if first == "tool":
            tool = rest
        elif first.isdecimal() and int(first) < count:
            found[int(first)] = _WORDS.get(rest, "error")
    return tool, found
