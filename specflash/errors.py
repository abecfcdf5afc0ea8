"""Errors a user can act on. The command line prints them in one line and exits with 2."""


class UserError(Exception):
    """Something the user gave is wrong; the message says what to do about it."""
