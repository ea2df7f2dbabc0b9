"""What of a process's memory is moved into huge pages."""

from app.processes.gate.huge_pages import PAGE, private_memory, use_huge_pages

MAPS = """\
55d0c0000000-55d0c0600000 rw-p 00000000 00:00 0                          [heap]
7f0000100000-7f0000900000 rw-p 00000000 00:00 0
7f1000000000-7f1000400000 r--p 00000000 00:00 0
7f2000000000-7f2000400000 rw-p 00001000 fe:00 131                        /usr/lib/a b.so
7f3000000000-7f3000400000 rw-s 00000000 00:00 0
7f4000000000-7f4000100000 rw-p 00000000 00:00 0
7ffc00000000-7ffc00400000 rw-p 00000000 00:00 0                          [stack]
"""


def test_only_memory_that_is_the_processs_own_counts() -> None:
    """Heap and anonymous memory, in whole pages; no file's, nobody else's, no stack."""
    found = list(private_memory(MAPS.splitlines()))
    assert found == [
        (0x55D0C0000000, 0x55D0C0600000),
        (0x7F0000200000, 0x7F0000800000),
    ]
    assert all(start % PAGE == end % PAGE == 0 for start, end in found)


def test_the_process_goes_on_with_what_it_had() -> None:
    """Moving memory changes nothing in it, whatever the kernel says."""
    before = bytes(range(256)) * (4 * PAGE // 256)
    kept = bytearray(before)
    assert use_huge_pages() >= 0
    assert kept == before
