#!/usr/bin/env python3
"""The constants of the mathematical functions of packet time: crates/runtime/lua/float_tables.lua on standard output.

    pip install mpmath
    scripts/float_tables.py > crates/runtime/lua/float_tables.lua

Fractions have 128 bits: two words, the upper one first, each in the order of the machine (little-endian). They are rounded to the nearest.
"""

from mpmath import mp, mpf, atan, factorial, floor, log, pi

mp.prec = 1600

HEAD = """\
-- Constants of the mathematical functions. Written by scripts/float_tables.py: to be changed there.
--
-- A table is a text of fractions of 128 bits (see fraction.lua), of 16 bytes each: the upper word, then the lower one.
"""

# The error that a polynomial may have where its terms end.
TERM = mpf(2) ** -127


def words(value):
    """The two words of a fraction below 1."""
    bits = int(floor(value * 2**128 + mpf(1) / 2))
    assert 0 <= bits < 2**128, value
    return bits >> 64, bits & (2**64 - 1)


def text(data):
    """A literal of runtime Lua, of 32 bytes a line."""
    lines = [data[at : at + 32] for at in range(0, len(data), 32)]
    return '"' + "\\z\n".join("".join(f"\\x{byte:02x}" for byte in line) for line in lines) + '"'


def table(name, comment, values):
    data = b"".join(word.to_bytes(8, "little") for value in values for word in words(value))
    raw(name, comment, data)


def raw(name, comment, data):
    print(f"\n-- {comment}\nfunction inline.{name}()\n  return {text(data)}\nend")


def constant(name, comment, value):
    high, low = words(value)
    print(f"\n-- {comment}\nfunction inline.{name}()\n  return 0x{high:016x}, 0x{low:016x}\nend")


def terms(term, largest):
    """Coefficients of a polynomial without the constant one, for arguments up to `largest`: as many as can be told in the sum."""
    count = 1
    while term(count) * largest**count > TERM:
        count += 1
    return [term(k) for k in range(1, count)]


def reciprocal(place):
    """What significands near 1 + place / 32 are multiplied by, in units of 1 / 512 (float_log2 in power.lua)."""
    return (2**15 + 32 + place) // (2 * (32 + place))


def largest_rest():
    edges = [(place, mpf(1) + (mpf(place) + side) / 32) for place in range(33) for side in (mpf(-1) / 2, mpf(1) / 2)]
    return max(abs(edge * reciprocal(place) / 512 - 1) for place, edge in edges)


def main():
    print(HEAD, end="")
    constant("half_log2_e", "Half the logarithm of e to base 2.", 1 / log(2) / 2)
    constant("log_2", "The natural logarithm of 2.", log(2))
    constant("log10_2", "The logarithm of 2 to base 10.", log(2, 10))
    constant("quarter_pi", "A fourth of pi.", pi / 4)
    logarithms = [-log(mpf(reciprocal(place)) / 512, 2) for place in range(32)]
    table("logarithms", "The logarithms to base 2 of 512 / udiv(2^15 + 32 + place, 2 * (32 + place)), by place.", logarithms)
    series = terms(lambda k: mpf(1) / (k + 1), largest_rest())
    table("logarithm_terms", "log(1 + x) = x - x * (x / 2 - x^2 / 3 + ...)", series)
    table("powers", "2^(place / 16) / 2, by place.", [mpf(2) ** (mpf(place) / 16) / 2 for place in range(16)])
    series = terms(lambda k: log(2) ** k / factorial(k), mpf(1) / 16)
    table("power_terms", "2^x = 1 + (log(2) * x + log(2)^2 / 2! * x^2 + ...)", series)
    square = (pi / 4) ** 2
    table("sine_terms", "sin(x) = x - x * (x^2 / 3! - x^4 / 5! + ...)", terms(lambda k: 1 / factorial(2 * k + 1), square))
    table("cosine_terms", "cos(x) = 1 - (x^2 / 2! - x^4 / 4! + ...)", terms(lambda k: 1 / factorial(2 * k), square))
    table("arctangents", "atan(place / 8), by place.", [atan(mpf(place) / 8) for place in range(9)])
    series = terms(lambda k: mpf(1) / (2 * k + 1), (mpf(1) / 16 + mpf(2) ** -20) ** 2)
    table("arctangent_terms", "atan(x) = x - x * (x^2 / 3 - x^4 / 5 + ...)", series)
    # The largest float takes 256 bits from byte (1023 + 2) / 8 on.
    size = (1023 + 2) // 8 + 32
    digits = int(floor(2 / pi * 2 ** (8 * (size - 7))))
    raw("two_over_pi", "2 / pi: bytes from the highest on, behind 7 zeros.", digits.to_bytes(size, "big"))


main()
