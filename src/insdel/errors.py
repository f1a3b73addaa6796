"""What a mistake of the caller raises: one message that says what is needed, what was found and what to do."""

from __future__ import annotations


class UserError(ValueError):
    """Something that was passed in cannot be used; the message says what can."""


class UserTypeError(UserError, TypeError):
    """The same for things of the wrong kind, such as a model that cannot be called."""


class RunError(RuntimeError):
    """What ran on the caller's behalf failed (a chapter, a page, a solution); the message says where and why."""
