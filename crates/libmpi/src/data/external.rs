//! Contents in the representation "external32": big-endian, with lengths of their own.
//!
//! Source: MPI 5.0, 14.5.2: `long` is of 4 bytes, a wide character of 2, `long double` is IEEE binary128 of 16.

use std::ffi::c_void;

use super::basic::{Basic, Element, Width};
use super::datatype::Layout;
use crate::abi::error::{Answer, Class, Error};

/// Change of the parts of a value: a complex number has two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The other way round.
    Swapped(usize),
    /// The lower half, the other way round; of a number with or without a sign.
    Halved(usize, Sign),
    /// 80 bits become 128.
    Widened,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Signed,
    Unsigned,
}

impl Form {
    fn of(basic: Basic) -> Form {
        let name = basic.name();
        match basic.element() {
            Element::Signed(_) if name == "MPI_LONG" => Form::Halved(8, Sign::Signed),
            Element::Unsigned(_) if name == "MPI_UNSIGNED_LONG" => Form::Halved(8, Sign::Unsigned),
            Element::Character(4) => Form::Halved(4, Sign::Unsigned),
            Element::Float(Width::Extended) | Element::Complex(Width::Extended) => Form::Widened,
            Element::Complex(_) => Form::Swapped(basic.size() / 2),
            _ => Form::Swapped(basic.size().max(1)),
        }
    }

    /// Length of a part in memory \[bytes\].
    fn inside(self) -> usize {
        match self {
            Form::Swapped(bytes) | Form::Halved(bytes, _) => bytes,
            Form::Widened => 16,
        }
    }

    /// Length of a part outside \[bytes\].
    fn outside(self) -> usize {
        match self {
            Form::Swapped(bytes) => bytes,
            Form::Halved(bytes, _) => bytes / 2,
            Form::Widened => 16,
        }
    }

    /// Writes a part; whether it fits.
    fn write(self, inside: &[u8], outside: &mut [u8]) -> bool {
        match self {
            Form::Widened => outside.copy_from_slice(&widened(inside)),
            Form::Swapped(bytes) | Form::Halved(bytes, _) => {
                let kept = self.outside();
                let fill = if self == Form::Halved(bytes, Sign::Signed) && inside[kept - 1] & 0x80 != 0 {
                    0xff
                } else {
                    0
                };
                if inside[kept..].iter().any(|byte| *byte != fill) {
                    return false;
                }
                outside.iter_mut().zip(inside[..kept].iter().rev()).for_each(|(to, from)| *to = *from);
            }
        }
        true
    }

    fn read(self, outside: &[u8], inside: &mut [u8]) {
        match self {
            Form::Widened => inside.copy_from_slice(&narrowed(outside)),
            Form::Swapped(_) | Form::Halved(..) => {
                let negative = matches!(self, Form::Halved(_, Sign::Signed)) && outside[0] & 0x80 != 0;
                inside.fill(if negative { 0xff } else { 0 });
                inside.iter_mut().zip(outside.iter().rev()).for_each(|(to, from)| *to = *from);
            }
        }
    }
}

/// Big-endian binary128 of a little-endian `long double`: the same exponent; 63 bits of fraction of 112.
fn widened(inside: &[u8]) -> [u8; 16] {
    let mantissa = u64::from_le_bytes(inside[..8].try_into().expect("eight bytes"));
    let high = u16::from_le_bytes([inside[8], inside[9]]);
    let (sign, mut exponent) = (u128::from(high >> 15), u128::from(high & 0x7fff));
    let mut fraction = u128::from(mantissa & (u64::MAX >> 1)) << 49;
    if exponent == 0 && mantissa >> 63 == 1 {
        exponent = 1;
    } else if exponent == 0 {
        // The leading bit of a number this small is not 1 in either.
        fraction = u128::from(mantissa) << 49;
    }
    (sign << 127 | exponent << 112 | fraction).to_be_bytes()
}

/// Little-endian `long double` of a big-endian binary128, to the nearest.
fn narrowed(outside: &[u8]) -> [u8; 16] {
    let bits = u128::from_be_bytes(outside[..16].try_into().expect("sixteen bytes"));
    let (sign, mut exponent) = ((bits >> 127) as u16, (bits >> 112 & 0x7fff) as u16);
    let fraction = bits & ((1 << 112) - 1);
    let leading = u64::from(exponent != 0) << 63;
    let mut mantissa = leading | (fraction >> 49) as u64;
    let rest = fraction & ((1 << 49) - 1);
    let half = 1_u128 << 48;
    if exponent != 0x7fff && (rest > half || (rest == half && mantissa & 1 == 1)) {
        let (sum, carried) = mantissa.overflowing_add(1);
        mantissa = if carried { 1 << 63 } else { sum };
        exponent += u16::from(carried);
    } else if exponent == 0x7fff && rest != 0 && mantissa << 1 == 0 {
        // What is not a number stays so.
        mantissa |= 1;
    }
    let mut inside = [0; 16];
    inside[..8].copy_from_slice(&mantissa.to_le_bytes());
    inside[8..10].copy_from_slice(&(sign << 15 | exponent).to_le_bytes());
    inside
}

/// Length of a value outside \[bytes\].
pub fn size(layout: &Layout) -> u64 {
    let map = layout.map();
    let each = |basic: Basic| {
        let form = Form::of(basic);
        (basic.size() / form.inside() * form.outside()) as u64
    };
    if let Some(basic) = map.uniform.filter(|basic| basic.parts().is_none()) {
        return map.elements as u64 * each(basic);
    }
    let mut bytes = 0;
    map.values(0, &mut |basic, _, count| bytes += each(basic) * count as u64);
    bytes
}

/// Writes `count` values at `buffer` to `into`.
///
/// # Safety
/// There are that many at `buffer`, and there is room for them at `into`.
pub unsafe fn pack(layout: &Layout, buffer: *const c_void, count: usize, into: *mut u8) -> Answer {
    let (map, mut into, mut fits) = (layout.map(), into, true);
    for index in 0..count as isize {
        map.values(index * layout.extent, &mut |basic, at, values| {
            let form = Form::of(basic);
            let from = buffer.cast::<u8>().wrapping_offset(at);
            for part in 0..values * (basic.size() / form.inside()) {
                // SAFETY: the caller says so.
                unsafe {
                    let inside = std::slice::from_raw_parts(from.add(part * form.inside()), form.inside());
                    fits &= form.write(inside, std::slice::from_raw_parts_mut(into, form.outside()));
                }
                into = into.wrapping_add(form.outside());
            }
        });
    }
    if fits {
        return Ok(());
    }
    Err(Error::new(Class::CONVERSION, "a number that is too large for its length in \"external32\""))
}

/// Puts `count` values from `from` into `buffer`.
///
/// # Safety
/// There are that many at `from`, and there is room for them at `buffer`.
pub unsafe fn unpack(layout: &Layout, from: *const u8, buffer: *mut c_void, count: usize) {
    let (map, mut from) = (layout.map(), from);
    for index in 0..count as isize {
        map.values(index * layout.extent, &mut |basic, at, values| {
            let form = Form::of(basic);
            let into = buffer.cast::<u8>().wrapping_offset(at);
            for part in 0..values * (basic.size() / form.inside()) {
                // SAFETY: the caller says so.
                unsafe {
                    let inside =
                        std::slice::from_raw_parts_mut(into.add(part * form.inside()), form.inside());
                    form.read(std::slice::from_raw_parts(from, form.outside()), inside);
                }
                from = from.wrapping_add(form.outside());
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::handle::Datatype;

    fn outside(handle: usize, inside: &[u8]) -> Answer<Vec<u8>> {
        let layout = Layout::of_predefined(Datatype(handle)).unwrap();
        let mut bytes = vec![0; size(&layout) as usize];
        // SAFETY: one value each.
        unsafe { pack(&layout, inside.as_ptr().cast(), 1, bytes.as_mut_ptr()) }?;
        let mut back = vec![0; inside.len()];
        // SAFETY: as above.
        unsafe { unpack(&layout, bytes.as_ptr(), back.as_mut_ptr().cast(), 1) };
        assert_eq!(back, inside);
        Ok(bytes)
    }

    #[test]
    fn numbers_are_big_endian() {
        assert_eq!(outside(0x209, &0x0102_0304_i32.to_le_bytes()).unwrap(), [1, 2, 3, 4]);
        assert_eq!(outside(0x214, &1.0_f64.to_le_bytes()).unwrap(), [0x3f, 0xf0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(
            outside(0x212, &[0, 0, 0x80, 0x3f, 0, 0, 0, 0x40]).unwrap(),
            [0x3f, 0x80, 0, 0, 0x40, 0, 0, 0]
        );
        assert_eq!(outside(0x20a, &(-2_i64).to_le_bytes()).unwrap(), [0xff, 0xff, 0xff, 0xfe]);
        assert_eq!(outside(0x20a, &(1_i64 << 31).to_le_bytes()).unwrap_err().class, Class::CONVERSION);
    }

    /// −2 as `long double`: exponent 16384, leading bit alone; as binary128: 0xc000 and zeros.
    #[test]
    fn a_long_double_is_a_quad() {
        let two = [0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0xc0, 0, 0, 0, 0, 0, 0];
        let mut quad = [0; 16];
        quad[0] = 0xc0;
        assert_eq!(outside(0x220, &two).unwrap(), quad);
        // 1 + 2⁻⁶³, its last bit: bit 112 − 63 of the fraction.
        let next = [1, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f, 0, 0, 0, 0, 0, 0];
        let quad = (0x3fff_u128 << 112 | 1 << 49).to_be_bytes();
        assert_eq!(outside(0x220, &next).unwrap(), quad);
    }
}
