"""Which method answers `auto`. It knows names and weights, no request and no decoder.

Users are dealt by weighted rendezvous hashing (Thaler and Ravishankar 1998; its "logarithmic method" with
weights, Schindelhauer and Schomaker 2005): each method draws from the hash of (salt, user, method) a number E that
is exponential with mean 1 over the users, and the least E / weight answers. Then

* a method has its weight's share of the users, because the first of independent exponential clocks rings with
  the probability of its rate;
* no state is kept, and every ingress and every restart deals alike;
* few users move when weights change: from one method to another only where the weight of the second grew
  against that of the first. Where one method's weight changes, that is as few as its new share allows. Cutting
  [0, 1) into stretches would also move users between methods whose weights did not change.
"""

import math
from collections.abc import Collection, Mapping
from hashlib import sha256
from random import Random

from specflash.catalogue import nearest
from specflash.errors import UserError

AUTO = "auto"
LEAST, MOST = 1e-6, 1e6
"""Of weights other than 0."""


def pick(weights: Mapping[str, float], salt: str, user: str | None, chance: Random) -> str:
    """The method that answers: always the same for a user, drawn by weight where there is none."""
    return min((_wait(salt, user, method, chance) / weight, method)
               for method, weight in weights.items() if weight)[1]


def _wait(salt: str, user: str | None, method: str, chance: Random) -> float:
    """Exponential with mean 1."""
    return -math.log(1 - chance.random() if user is None else _uniform(salt, user, method))


def _uniform(salt: str, user: str, method: str) -> float:
    """In (0, 1], from 53 bits of a hash; the lengths keep ("a", "bc") and ("ab", "c") apart."""
    parts = [part.encode(errors="surrogatepass") for part in (salt, user, method)]
    found = sha256(b"".join(len(part).to_bytes(8, "big") + part for part in parts)).digest()
    return ((int.from_bytes(found[:8], "big") >> 11) + 1) / 2**53


def full_weights(weights: Mapping[str, float], methods: Collection[str]) -> dict[str, float]:
    """One weight per served method. Raises UserError where a weight names none of them, and for one beyond LEAST and
    MOST, whose share would be lost in rounding."""
    for name, weight in weights.items():
        check_served(name, methods, "weights")
        if weight and not LEAST <= weight <= MOST:
            raise UserError(f"`weights.{name}`: {weight:g} is neither 0 nor between {LEAST:g} and {MOST:g}")
    return {method: float(weights.get(method, 0) if weights else 1) for method in methods}


def check_served(name: str, methods: Collection[str], key: str) -> None:
    if name not in methods:
        raise UserError(f"`{key}` names `{name}`, which is not served{nearest(name, methods)}; "
                        f"served: {', '.join(methods)}")
