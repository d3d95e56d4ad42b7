#!/usr/bin/env python3
"""refuse_io_uring.py ERRNO COMMAND...: runs COMMAND under a seccomp filter as container runtimes install it: the three
system calls of io_uring fail with ERRNO (a number, or a name as EPERM)."""

import ctypes
import errno
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
RET_ALLOW, RET_ERRNO = 0x7fff0000, 0x00050000
FIRST_CALL, LAST_CALL = 425, 427  # io_uring_setup, _enter, _register: the same numbers on every architecture.
LOAD_WORD, JUMP_IF_AT_LEAST, JUMP_IF_GREATER, RETURN = 0x20, 0x35, 0x25, 0x06


class Program(ctypes.Structure):
    """struct sock_fprog."""
    _fields_ = [('length', ctypes.c_ushort), ('filter', ctypes.c_void_p)]


def main():
    number = int(sys.argv[1]) if sys.argv[1].isdigit() else getattr(errno, sys.argv[1])
    code = b''.join(struct.pack('HBBI', *step) for step in (
        (LOAD_WORD, 0, 0, 0),  # The number of the call is the first word of struct seccomp_data.
        (JUMP_IF_AT_LEAST, 0, 2, FIRST_CALL),
        (JUMP_IF_GREATER, 1, 0, LAST_CALL),
        (RETURN, 0, 0, RET_ERRNO | number),
        (RETURN, 0, 0, RET_ALLOW),
    ))
    buffer = ctypes.create_string_buffer(code, len(code))
    program = Program(len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
                                                                 ctypes.byref(program), 0, 0):
        sys.exit('refuse_io_uring: prctl: %s' % os.strerror(ctypes.get_errno()))
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == '__main__':
    main()
