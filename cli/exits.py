"""Exit codes that scripts may rely on; every command's --help repeats its own."""

ADMITTED = 0
REFUSED = 1
NOT_JUDGED = 2
USAGE = 64
"""EX_USAGE of sysexits.h: a wrong flag, setting or file name."""
INTERRUPTED = 130
"""128 and the number of SIGINT, as shells count."""
