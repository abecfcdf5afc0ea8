"""Errors a user can act on. The command line prints them in one line and exits with 2."""


class UserError(Exception):
    """Something the user gave is wrong; the message says what to do about it."""


def one_line(error: Exception | str) -> str:
    """What a library says is wrong, to be quoted: its message in one line that any file can hold (half
    characters shown as \\udc80), or its name where it says nothing.
    """
    return " ".join(str(error).split()).encode(errors="backslashreplace").decode() or type(error).__name__
