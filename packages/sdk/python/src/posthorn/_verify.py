"""The receiver's half of the signature.

The raw body, any secret against any entry, five minutes on either side, one spelling of a digest. It raises instead of returning
False: a receiver that forgets to look would accept everything. It does not deduplicate: remember the id. Source: docs/receive.md.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import time
from functools import partial
from typing import Any, Callable, Iterable, Literal, Mapping, NamedTuple

TOLERANCE_SECONDS = 300

Reason = Literal["missing_header", "malformed_header", "timestamp_too_old", "timestamp_too_new", "signature_mismatch"]


class VerificationError(Exception):
    """The signature does not prove that the request comes from Posthorn: answer 401 and ignore the request."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Verified(NamedTuple):
    """`id` is the same for every automatic retry: deduplicate by it. `timestamp` is in Unix seconds."""

    id: str
    timestamp: int


def verify(
    *, secrets: str | Iterable[str], headers: Mapping[str, str] | Any, body: bytes | str, now: float | None = None
) -> Verified:
    """Raises VerificationError when the request is refused, ValueError when a secret is none.

    `secrets` are the `whsec_` secrets and `whpk_` public keys that may have signed: after a rotation the new one and the old one. A
    public key needs the package `cryptography`. `body` is the raw body.
    """
    keys = [_key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    if not keys:
        raise ValueError("Verifying needs at least one secret.")
    id, timestamp, signatures = (
        _header(headers, name) for name in ("webhook-id", "webhook-timestamp", "webhook-signature")
    )
    if "." in id:
        raise VerificationError("malformed_header", "webhook-id contains a dot.")
    if not re.fullmatch(r"0|[1-9][0-9]{0,14}", timestamp):
        raise VerificationError("malformed_header", "webhook-timestamp is not a number of Unix seconds.")
    ahead = int(timestamp) - (time.time() if now is None else now)
    if ahead > TOLERANCE_SECONDS:
        raise VerificationError("timestamp_too_new", "The timestamp lies in the future: check both clocks.")
    if not ahead >= -TOLERANCE_SECONDS:
        raise VerificationError("timestamp_too_old", "The timestamp is too old: a late or repeated request.")
    signed = _bytes(f"{id}.{timestamp}.") + (body.encode() if isinstance(body, str) else body)
    # Every pair is compared, even after a match.
    verdicts = [key(entry, signed) for entry in signatures.split(" ") for key in keys]
    if not any(verdicts):
        raise VerificationError(
            "signature_mismatch",
            "No signature matches: check that the secret is this endpoint's and that the body is the raw one.",
        )
    return Verified(id, int(timestamp))


def _key(secret: str) -> Callable[[str, bytes], bool]:
    if secret.startswith("whpk_"):
        point = _decoded(secret[len("whpk_") :])
        if point is not None and len(point) == 32:
            return partial(_signed_by, point)
    elif secret.startswith("whsec_"):
        key = _decoded(secret[len("whsec_") :])
        if key is not None and 24 <= len(key) <= 64:
            return partial(_signed_with, key)
    raise ValueError("This is not a signing secret: expected whsec_ or whpk_ and base64, usually of 32 bytes.")


def _signed_with(key: bytes, entry: str, signed: bytes) -> bool:
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    return hmac.compare_digest(_bytes(entry), b"v1," + base64.b64encode(digest))


def _signed_by(point: bytes, entry: str, signed: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    signature = _decoded(entry[len("v1a,") :]) if entry.startswith("v1a,") else None
    if signature is None:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(point).verify(signature, signed)
        return True
    except InvalidSignature:
        return False


def _bytes(header: str) -> bytes:
    """Some frameworks decode headers so that what is no UTF-8 can be written back."""
    return header.encode("utf-8", "surrogateescape")


def _decoded(text: str) -> bytes | None:
    """Only the one canonical spelling, with padding."""
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return decoded if base64.b64encode(decoded).decode() == text else None


def _header(headers: Mapping[str, str], name: str) -> str:
    values = [value for key, value in headers.items() if key.lower() == name]
    if len(values) > 1:
        raise VerificationError("malformed_header", f"{name} came more than once.")
    if not values or not isinstance(values[0], str) or values[0] == "":
        raise VerificationError("missing_header", f"The header {name} is missing.")
    return values[0]
