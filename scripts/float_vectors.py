#!/usr/bin/env python3
"""Mathematical functions at floats that are hard for them, each with the nearest float: crates/runtime/tests/elementary/vectors.txt on standard output.

    pip install mpmath
    scripts/float_vectors.py > crates/runtime/tests/elementary/vectors.txt

A line has the routine, the words of its arguments and of the result in hexadecimal. Results are computed with 2,400 bits.
"""

import math
import random
import struct
from fractions import Fraction

import mpmath
from mpmath import mp, mpf

mp.prec = 2400
random.seed(754)
COUNT = 120


def word(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def double(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def nearest(value):
    """The float nearest to a number that is not 0, ties to even (Python's quotients of integers are such)."""
    sign, digits, exponent, _ = value._mpf_
    fraction = Fraction(int(digits)) * Fraction(2) ** exponent
    try:
        result = fraction.numerator / fraction.denominator
    except OverflowError:
        result = math.inf
    return -result if sign else result


def near(x, ulps=8):
    """A float some units of the last place beside x."""
    return double(word(x) + random.randint(-ulps, ulps))


def any_float(low=-1074, high=1023):
    """Of few or many bits, with an exponent between those."""
    bits = random.choice([1, 2, 5, 20, 53, 53, 53])
    significand = random.getrandbits(bits) | 1 << bits - 1
    return math.ldexp(significand, random.randint(low, high) - bits + 1) or 5e-324


def signed(x):
    return random.choice([x, -x])


def angles():
    """Near multiples of pi / 4, the smallest rest of all (Muller, Elementary Functions), large ones, usual ones."""
    for x in (math.ldexp(6381956970095103, 797), math.ldexp(6411027962775774, -57), math.ldexp(1, 1023), double(0x7FEFFFFFFFFFFFFF)):
        yield x
    for _ in range(COUNT):
        whole = random.choice([random.randint(1, 30), random.randint(1, 10**6), random.getrandbits(random.randint(1, 900))])
        exact = nearest(mpf(whole) * mp.pi / 4)
        yield signed(random.choice([near(exact, 2), any_float(-40, 8), any_float(), any_float(20, 1023)]))


def powers():
    """Exact ones, ones halfway between floats or beside, at the edges of all floats, near 1, roots, any."""
    yield from [(4.0, 0.5), (27.0, 1 / 3), (0.1, 2.0), (10.0, 22.0), (10.0, 23.0), (2.0, -1074.0), (2.0, -1075.0), (2.0, -1076.0)]
    yield from [(2.0, 1024.0), (near(2.0, 1), 1024.0), (0.5, 1074.0), (0.5, 1075.0), (1.0 + 2**-52, 2.0**62), (3.0, -34.0)]
    yield from [(double(word(1.0) + 2), 0.5), (double(word(1.0) - 1), 0.5), (double(word(1.0) - 1), 2.0**-60), (1.5, -1837.0)]
    # 6^k / 2^n and others with a subnormal result that is halfway between two.
    yield from [(math.ldexp(3.0, -400), 3.0 - n) for n in range(2)]
    yield from [(math.ldexp(odd, -exponent), 3.0) for odd in (3.0, 5.0, 7.0, 9.0) for exponent in range(354, 362)]
    for whole in range(3, 200):
        for power in range(3, 35):
            if 2**52 < whole**power < 2**54 and whole & 1:
                yield signed(float(whole)), float(power)
                yield math.ldexp(whole, -2), float(power)
    for _ in range(COUNT):
        root = random.getrandbits(random.choice([20, 26]))
        yield float(root * root), random.choice([0.5, 1.5, -0.5, 0.25])
        base = any_float(-20, 20)
        edge = random.choice([1023.99, -1022.0, -1074.5, -1060.0, 0.001, 1e-15]) / math.log2(base) if base != 1 else 1.0
        yield base, near(edge)
        yield near(1.0, 2**20), signed(any_float(30, 62))
        yield any_float(), any_float(-60, 3) * random.choice([1, -1])
        yield signed(any_float(-3, 3)), float(signed(random.randint(1, 300)))


def vectors():
    def one(name, function, arguments, *rest):
        for x in arguments:
            yield name, (x,), rest, function(mpf(x))

    for kind, function in enumerate((mp.sin, mp.cos, mp.tan)):
        yield from one("float_sine", function, angles(), kind)
    exponents = [signed(any_float(-60, 9)) for _ in range(COUNT)]
    exponents += [near(x) for x in (709.782712893384, -708.3964185322641, -745.1332191019412, -740.0, 1.0, -1.0, 2.0**-53)]
    # Halfway between two floats but for a rest of the second order.
    exponents += [signed(math.ldexp(1.0, -n)) for n in range(20, 60)]
    yield from one("float_exp", mp.exp, [x for x in exponents if -745.14 < x < 709.79])
    for base, function in ((0, mp.log), (2, lambda x: mp.log(x, 2)), (10, lambda x: mp.log(x, 10))):
        yield from one("float_log", function, [any_float() for _ in range(COUNT)] + [near(1.0, 2 ** random.randint(1, 40)) for _ in range(COUNT)], base)
        yield from one("float_log", function, [10.0**n for n in range(1, 23)] + [2.0**n for n in range(-1074, 1024, 61)], base)
    ones = [signed(x) for x in [near(0.5), near(math.sqrt(0.5))] + [any_float(random.choice([-70, -3]), -1) for _ in range(COUNT)]]
    ones += [signed(1 - math.ldexp(random.randint(1, 2**20), -random.randint(20, 53))) for _ in range(COUNT)]
    yield from one("float_arcsine", mp.asin, ones, 0)
    yield from one("float_arcsine", mp.acos, [x for x in ones if x < 1], 1)
    for _ in range(COUNT):
        for y, x in (any_float(), any_float()), (any_float(-9, 9), signed(any_float(-9, 9))), (signed(any_float(-30, 60)), 1.0):
            yield "float_arctangent", (y, x), (), mp.atan2(mpf(y), mpf(x))
    for x, y in powers():
        if 0 < abs(x) < math.inf and abs(x) != 1 and 0 < abs(y) < math.inf:
            if abs(mpf(y) * mp.log(abs(mpf(x)), 2)) < 1100:
                yield "float_power", (x, y), (), mp.re(mpf(x) ** mpf(y))


def main():
    for name, floats, rest, value in vectors():
        if value != 0:
            arguments = [word(x) for x in floats] + list(rest)
            print(name, *(f"{argument:x}" for argument in arguments), f"{word(nearest(value)):x}")


main()
