"""Groth16 proofs over BN254, with py_ecc's pairing: `pip install 'kedge[claims]'`."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from ..errors import Refused
from .reading import refuse_unless

FIELD: Final = 0x30644E72E131A029B85045B68181585D97816A916871CA8D3C208C16D87CFD47
"""Modulus of the points' coordinates; larger numbers would have a second form, and are refused."""


def _curve() -> Any:
    try:
        from py_ecc import optimized_bn128
    except ImportError as error:
        raise RuntimeError("claims need a pairing: pip install 'kedge[claims]'") from error
    return optimized_bn128


def _g1(numbers: Sequence[int], what: str) -> Any:
    curve = _curve()
    refuse_unless(all(number < FIELD for number in numbers), f"a number of {what} is not below the field's order")
    if not any(numbers):
        return curve.Z1
    point = (curve.FQ(numbers[0]), curve.FQ(numbers[1]), curve.FQ(1))
    refuse_unless(curve.is_on_curve(point, curve.b), f"{what} is no point of its curve")
    return point


def _g2(numbers: Sequence[int], what: str) -> Any:
    """A point of G2; each coordinate starts with its imaginary part."""
    curve = _curve()
    refuse_unless(all(number < FIELD for number in numbers), f"a number of {what} is not below the field's order")
    if not any(numbers):
        return curve.Z2
    x1, x0, y1, y0 = numbers
    point = (curve.FQ2([x0, x1]), curve.FQ2([y0, y1]), curve.FQ2.one())
    refuse_unless(curve.is_on_curve(point, curve.b2), f"{what} is no point of its curve")
    # Not every point of this curve is in the group.
    refuse_unless(curve.is_inf(curve.multiply(point, curve.curve_order)), f"{what} is no point of its group")
    return point


@lru_cache(4)
def _key_points(key: tuple[tuple[int, ...], ...]) -> tuple[Any, list[Any], list[Any]]:
    """Values shared by all proofs: the pairing of alpha and beta; gamma and delta; the points of the inputs."""
    beta, *others = (_g2(numbers, "the key") for numbers in key[1:4])
    constant = _curve().pairing(beta, _g1(key[0], "the key"), final_exponentiate=False)
    return constant, others, [_g1(numbers, "the key") for numbers in key[4:]]


def check_groth16(
    proof: tuple[list[int], list[int], list[int]], inputs: Sequence[int], key: tuple[tuple[int, ...], ...]
) -> None:
    """Verifies a proof for its public inputs.

    Args:
        proof: the numbers of a (G1), b (G2) and c (G1), imaginary parts first.
        inputs: the public inputs.
        key: the numbers of alpha (G1), beta, gamma, delta (G2), then the points of the constant and of each input (G1).

    Raises:
        Refused: the proof is invalid.
        RuntimeError: py_ecc is not installed.
    """
    curve = _curve()
    a, b, c = _g1(proof[0], "a"), _g2(proof[1], "b"), _g1(proof[2], "c")
    product, (gamma, delta), (total, *points) = _key_points(key)
    if len(points) != len(inputs):
        raise Refused("the key has another number of inputs")
    for number, point in zip(inputs, points):
        total = curve.add(total, curve.multiply(point, number % curve.curve_order))
    for second, first in [(gamma, total), (delta, c), (b, curve.neg(a))]:
        product = product * curve.pairing(second, first, final_exponentiate=False)
    refuse_unless(curve.final_exponentiate(product) == curve.FQ12.one(), "the proof does not hold for this claim")
