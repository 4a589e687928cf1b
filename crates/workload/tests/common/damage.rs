//! Random damage to files, for tests of readers.

/// xorshift64*: small, and good enough to choose what to break.
pub struct Random(u64);

impl Random {
    /// Generator of one round, the same in every run.
    pub fn of(round: u64) -> Random {
        Random(round.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Random number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % bound
    }
}

const NASTY: [u32; 8] = [0, 1, 2, 0x7f, 0xff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

/// Damages a few places of a file: truncates, flips, overwrites, duplicates, removes.
pub fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len().max(1));
        match random.below(7) {
            0 => bytes.truncate(at),
            1 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            2 if !bytes.is_empty() => bytes[at] = random.below(256) as u8,
            3 if at + 4 <= bytes.len() => {
                bytes[at..at + 4].copy_from_slice(&NASTY[random.below(NASTY.len())].to_be_bytes());
            }
            4 => {
                let piece: Vec<u8> = bytes[at..(at + random.below(64)).min(bytes.len())].to_vec();
                let to = random.below(bytes.len().max(1)).min(bytes.len());
                bytes.splice(to..to, piece);
            }
            5 => drop(bytes.drain(at.min(bytes.len())..(at + random.below(64)).min(bytes.len()))),
            // Changes a function number in the body; the index at the end stays valid.
            _ if bytes.len() > 20 => {
                let at = 16 + random.below(bytes.len() - 18);
                bytes[at..at + 2].copy_from_slice(&(random.below(300) as u16).to_be_bytes());
            }
            _ => {}
        }
    }
}
