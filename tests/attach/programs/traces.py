"""Traces another process, as a debugger would, until it is told to end."""
import ctypes
import signal
import sys

import ending

PTRACE_SEIZE = 0x4206

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long
seized = libc.ptrace(PTRACE_SEIZE, int(sys.argv[1]), None, None) == 0
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
ending.begin()
signal.sigwait([signal.SIGUSR2])
ending.right(seized, "not traced")
