//! Arithmetic and comparisons (RFC 9669 § 4.1–4.3), on numbers alone.

/// Operations: the high four bits of the code.
mod op {
    pub const ADD: u8 = 0x00;
    pub const SUB: u8 = 0x10;
    pub const MUL: u8 = 0x20;
    pub const DIV: u8 = 0x30;
    pub const OR: u8 = 0x40;
    pub const AND: u8 = 0x50;
    pub const LSH: u8 = 0x60;
    pub const RSH: u8 = 0x70;
    pub const NEG: u8 = 0x80;
    pub const MOD: u8 = 0x90;
    pub const XOR: u8 = 0xa0;
    pub const MOV: u8 = 0xb0;
    pub const ARSH: u8 = 0xc0;
    pub const END: u8 = 0xd0;
}

/// What an instruction asks for, besides its operands.
#[derive(Clone, Copy)]
pub(crate) struct Operation {
    pub code: u8,
    pub off: i16,
    pub imm: i32,
}

impl Operation {
    fn has_register(self) -> bool {
        self.code & 0x08 != 0
    }

    /// `dst op src` in 64 bits; `None` for what is no instruction.
    pub fn wide(self, dst: u64, src: u64) -> Option<u64> {
        let (op, signed) = (self.code & 0xf0, self.is_signed()?);
        Some(match op {
            op::ADD => dst.wrapping_add(src),
            op::SUB => dst.wrapping_sub(src),
            op::MUL => dst.wrapping_mul(src),
            op::DIV if signed && src == 0 => 0,
            op::DIV if signed => dst.cast_signed().wrapping_div(src.cast_signed()).cast_unsigned(),
            op::DIV => dst.checked_div(src).unwrap_or(0),
            op::MOD if signed && src == 0 => dst,
            op::MOD if signed => dst.cast_signed().wrapping_rem(src.cast_signed()).cast_unsigned(),
            op::MOD => dst.checked_rem(src).unwrap_or(dst),
            op::OR => dst | src,
            op::AND => dst & src,
            op::XOR => dst ^ src,
            op::LSH => dst.wrapping_shl(src as u32),
            op::RSH => dst.wrapping_shr(src as u32),
            op::ARSH => dst.cast_signed().wrapping_shr(src as u32).cast_unsigned(),
            op::NEG => dst.wrapping_neg(),
            op::MOV => match self.off {
                0 => src,
                8 => src as i8 as u64,
                16 => src as i16 as u64,
                32 => src as i32 as u64,
                _ => return None,
            },
            // Swapped whatever the host's order; there is no form with a register.
            op::END if !self.has_register() => swapped(dst, self.imm)?,
            _ => return None,
        })
    }

    /// `dst op src` in 32 bits; the upper ones are zero afterwards.
    pub fn narrow(self, dst: u64, src: u64) -> Option<u64> {
        let (op, signed) = (self.code & 0xf0, self.is_signed()?);
        if op == op::END {
            return self.ordered(dst);
        }
        let (dst, src) = (dst as u32, src as u32);
        let result = match op {
            op::ADD => dst.wrapping_add(src),
            op::SUB => dst.wrapping_sub(src),
            op::MUL => dst.wrapping_mul(src),
            op::DIV if signed && src == 0 => 0,
            op::DIV if signed => dst.cast_signed().wrapping_div(src.cast_signed()).cast_unsigned(),
            op::DIV => dst.checked_div(src).unwrap_or(0),
            op::MOD if signed && src == 0 => dst,
            op::MOD if signed => dst.cast_signed().wrapping_rem(src.cast_signed()).cast_unsigned(),
            op::MOD => dst.checked_rem(src).unwrap_or(dst),
            op::OR => dst | src,
            op::AND => dst & src,
            op::XOR => dst ^ src,
            op::LSH => dst.wrapping_shl(src),
            op::RSH => dst.wrapping_shr(src),
            op::ARSH => dst.cast_signed().wrapping_shr(src).cast_unsigned(),
            op::NEG => dst.wrapping_neg(),
            op::MOV => match self.off {
                0 => src,
                8 => src as i8 as u32,
                16 => src as i16 as u32,
                _ => return None,
            },
            _ => return None,
        };
        Some(u64::from(result))
    }

    /// Whether a division is of signed numbers. `None` where `off` says something that the operation does not have.
    fn is_signed(self) -> Option<bool> {
        match (self.code & 0xf0, self.off) {
            (_, 0) => Some(false),
            (op::DIV | op::MOD, 1) => Some(true),
            // Only registers are moved with their signs.
            (op::MOV, _) if self.has_register() => Some(false),
            _ => None,
        }
    }

    /// To little-endian order, which registers have already, or to big-endian order; what is above is cleared.
    fn ordered(self, dst: u64) -> Option<u64> {
        match (self.has_register(), self.imm) {
            (true, bits) => swapped(dst, bits),
            (false, 16) => Some(dst & 0xffff),
            (false, 32) => Some(dst & 0xffff_ffff),
            (false, 64) => Some(dst),
            (false, _) => None,
        }
    }

    /// Whether a jump is taken; `None` for what is no comparison.
    pub fn holds(self, dst: u64, src: u64, is_wide: bool) -> Option<bool> {
        let (a, b) = if is_wide { (dst, src) } else { (dst & 0xffff_ffff, src & 0xffff_ffff) };
        let signed = |number: u64| if is_wide { number as i64 } else { i64::from(number as i32) };
        let (c, d) = (signed(a), signed(b));
        Some(match self.code & 0xf0 {
            0x10 => a == b,
            0x20 => a > b,
            0x30 => a >= b,
            0x40 => a & b != 0,
            0x50 => a != b,
            0x60 => c > d,
            0x70 => c >= d,
            0xa0 => a < b,
            0xb0 => a <= b,
            0xc0 => c < d,
            0xd0 => c <= d,
            _ => return None,
        })
    }
}

fn swapped(number: u64, bits: i32) -> Option<u64> {
    match bits {
        16 => Some(u64::from((number as u16).swap_bytes())),
        32 => Some(u64::from((number as u32).swap_bytes())),
        64 => Some(number.swap_bytes()),
        _ => None,
    }
}

/// What an atomic operation writes over `old`; `None` for what is none. Both are as wide as the memory is.
pub(crate) fn atomic(imm: i32, old: u64, src: u64, compared: u64) -> Option<u64> {
    /// Besides the operation, that the old value is asked for.
    const FETCH: i32 = 0x01;
    Some(match imm & !FETCH {
        0x00 => old.wrapping_add(src),
        0x40 => old | src,
        0x50 => old & src,
        0xa0 => old ^ src,
        0xe0 if imm & FETCH != 0 => src,
        0xf0 if imm & FETCH != 0 => {
            if old == compared {
                src
            } else {
                old
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMIN: u64 = 1 << 63;

    fn wide(code: u8, off: i16, imm: i32, dst: u64, src: u64) -> Option<u64> {
        Operation { code, off, imm }.wide(dst, src)
    }

    fn narrow(code: u8, off: i16, imm: i32, dst: u64, src: u64) -> Option<u64> {
        Operation { code, off, imm }.narrow(dst, src)
    }

    #[test]
    fn sixty_four_bits() {
        let minus = |number: i64| number.cast_unsigned();
        let table = [
            (op::ADD, 0, u64::MAX, 2, Some(1)),
            (op::SUB, 0, 0, 1, Some(u64::MAX)),
            (op::MUL, 0, 1 << 63, 2, Some(0)),
            (op::DIV, 0, 7, 0, Some(0)),
            (op::DIV, 1, 7, 0, Some(0)),
            (op::DIV, 1, minus(-7), 2, Some(minus(-3))),
            (op::DIV, 1, IMIN, minus(-1), Some(IMIN)),
            (op::DIV, 2, 7, 2, None),
            (op::MOD, 0, 7, 0, Some(7)),
            (op::MOD, 1, minus(-7), 0, Some(minus(-7))),
            (op::MOD, 1, minus(-7), 2, Some(minus(-1))),
            (op::MOD, 1, IMIN, minus(-1), Some(0)),
            (op::LSH, 0, 1, 65, Some(2)),
            (op::RSH, 0, IMIN, 63, Some(1)),
            (op::ARSH, 0, IMIN, 63, Some(u64::MAX)),
            (op::NEG, 0, 1, 0, Some(u64::MAX)),
            (op::ADD, 1, 1, 1, None),
            (op::MOV | 8, 8, 0, 0x80, Some(minus(-128))),
            (op::MOV | 8, 16, 0, 0x8000, Some(minus(-32768))),
            (op::MOV | 8, 32, 0, 0x8000_0000, Some(minus(-0x8000_0000))),
            (op::MOV | 8, 1, 0, 0, None),
            (op::MOV, 8, 0, 0x80, None),
            (0xe0, 0, 0, 0, None),
        ];
        for (code, off, dst, src, expected) in table {
            assert_eq!(wide(code, off, 0, dst, src), expected, "{code:#x} {off} {dst:#x} {src:#x}");
        }
    }

    #[test]
    fn thirty_two_bits_clear_the_others() {
        let (high, minus) = (0xdead_beef_0000_0000_u64, |number: i32| u64::from(number.cast_unsigned()));
        let table = [
            (op::ADD, 0, high | 0xffff_ffff, 2, Some(1)),
            (op::SUB, 0, high, 1, Some(0xffff_ffff)),
            (op::DIV, 0, high | 7, high, Some(0)),
            (op::DIV, 1, high | minus(-7), 2, Some(minus(-3))),
            (op::DIV, 1, minus(i32::MIN), minus(-1), Some(minus(i32::MIN))),
            (op::MOD, 0, high | 7, high, Some(7)),
            (op::MOD, 1, minus(i32::MIN), minus(-1), Some(0)),
            (op::LSH, 0, 1, 33, Some(2)),
            (op::ARSH, 0, 0x8000_0000, 31, Some(0xffff_ffff)),
            (op::NEG, 0, high | 1, 0, Some(0xffff_ffff)),
            (op::MOV | 8, 0, 0, high | 5, Some(5)),
            (op::MOV | 8, 8, 0, 0x80, Some(minus(-128))),
            (op::MOV | 8, 32, 0, 5, None),
        ];
        for (code, off, dst, src, expected) in table {
            assert_eq!(narrow(code, off, 0, dst, src), expected, "{code:#x} {off} {dst:#x} {src:#x}");
        }
    }

    #[test]
    fn bytes_are_swapped() {
        let number = 0x1122_3344_5566_7788;
        let table = [(16, 0x8877), (32, 0x8877_6655), (64, 0x8877_6655_4433_2211)];
        for (bits, expected) in table {
            assert_eq!(wide(op::END, 0, bits, number, 0), Some(expected));
            assert_eq!(narrow(op::END | 8, 0, bits, number, 0), Some(expected));
            assert_eq!(narrow(op::END, 0, bits, number, 0), Some(number & (u64::MAX >> (64 - bits))));
        }
        assert_eq!(wide(op::END, 0, 24, number, 0), None);
        assert_eq!(wide(op::END | 8, 0, 16, number, 0), None);
        assert_eq!(narrow(op::END, 0, 8, number, 0), None);
    }

    #[test]
    fn comparisons() {
        let (minus, high) = (u64::MAX, 1 << 32);
        // Whether `dst op src` holds in 64 bits, and in 32.
        let table = [
            (0x10, high, 0, false, true),
            (0x20, minus, 1, true, true),
            (0x30, 1, 1, true, true),
            (0x40, high | 1, high, true, false),
            (0x50, 3, 3, false, false),
            (0x60, minus, 1, false, false),
            (0x70, high, 1, true, false),
            (0xa0, high, 1, false, true),
            (0xb0, 2, 1, false, false),
            (0xc0, minus, 1, true, true),
            (0xd0, 0x8000_0000, 0, false, true),
        ];
        for (code, dst, src, wide, narrow) in table {
            let operation = Operation { code, off: 0, imm: 0 };
            assert_eq!(operation.holds(dst, src, true), Some(wide), "{code:#x}");
            assert_eq!(operation.holds(dst, src, false), Some(narrow), "{code:#x}");
        }
        assert_eq!(Operation { code: 0xf0, off: 0, imm: 0 }.holds(1, 1, true), None);
    }

    #[test]
    fn atomic_operations() {
        let table = [
            (0x00, Some(9)),
            (0x01, Some(9)),
            (0x40, Some(7)),
            (0x50, Some(2)),
            (0xa1, Some(5)),
            (0xe1, Some(3)),
            (0xf1, Some(3)),
            (0xe0, None),
            (0xf0, None),
            (0x20, None),
        ];
        for (imm, expected) in table {
            assert_eq!(atomic(imm, 6, 3, 6), expected, "{imm:#x}");
        }
        assert_eq!(atomic(0xf1, 6, 3, 5), Some(6));
    }
}
