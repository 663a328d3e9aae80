"""A client of Posthorn's REST API: `Posthorn`, `AsyncPosthorn`, and `verify` for receivers."""

from ._client import AsyncPosthorn, Posthorn, PosthornError
from ._generated import UNSET, ErrorTag
from ._verify import VerificationError, Verified, verify

__all__ = [
    "UNSET",
    "AsyncPosthorn",
    "ErrorTag",
    "Posthorn",
    "PosthornError",
    "VerificationError",
    "Verified",
    "verify",
]
