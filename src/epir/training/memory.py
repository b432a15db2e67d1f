"""Memory that one step of training frees is kept for the next.

The C library of Linux gives large blocks back to the system when they become free. A step of training frees as much as
it takes, so the next one gets all of it anew, page by page: about 3 % of its time.
"""

import ctypes
import platform
from functools import cache

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # options of glibc's mallopt: see its manual page
LARGE = 1 << 30  # bytes: what is smaller stays with the process


@cache
def keep_freed_memory() -> bool:
    """Let this process keep what it frees, for as long as it lives; whether its C library, glibc, could be asked."""
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return all([mallopt(option, LARGE) for option in (TRIM_THRESHOLD, MMAP_THRESHOLD)])
