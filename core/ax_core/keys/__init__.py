"""Canonical form and digests: when two calls are the same call, and under which names they are kept.

Everything that is compared, hashed or made unique goes through here, so that the answer is the same for every
key order, Python version and database: keys are hex text, compared as bytes.
"""

from ax_core.keys.business import NORMALISERS, business_key
from ax_core.keys.digests import args_hash, args_hash_and_text, digest, fingerprint, idempotency_key
from ax_core.keys.encoding import plain
from ax_core.keys.jcs import MAX_DEPTH, MAX_DIGITS, VERSION, NotCanonical, canonical

__all__ = [
    "MAX_DEPTH",
    "MAX_DIGITS",
    "NORMALISERS",
    "VERSION",
    "NotCanonical",
    "args_hash",
    "args_hash_and_text",
    "business_key",
    "canonical",
    "digest",
    "fingerprint",
    "idempotency_key",
    "plain",
]
