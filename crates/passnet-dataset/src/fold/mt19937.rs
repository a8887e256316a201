//! The Mersenne Twister MT19937, the source of the uniform numbers that order ties in compatible folding.

const LEN: usize = 624;
const SHIFT: usize = 397;

/// State of the generator: 624 words, and the position of the next word.
struct Mt19937 {
    state: [u32; LEN],
    next: usize,
}

impl Mt19937 {
    /// Initialises the state with Knuth's method, as in the reference implementation of 2002.
    fn new(seed: u32) -> Self {
        let mut state = [seed; LEN];
        for i in 1..LEN {
            let previous = state[i - 1];
            state[i] = 1_812_433_253_u32.wrapping_mul(previous ^ (previous >> 30)).wrapping_add(i as u32);
        }
        Self { state, next: LEN }
    }

    fn refill(&mut self) {
        for i in 0..LEN {
            let joined = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % LEN] & 0x7fff_ffff);
            let odd = if joined & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[i] = self.state[(i + SHIFT) % LEN] ^ (joined >> 1) ^ odd;
        }
        self.next = 0;
    }

    fn next_u32(&mut self) -> u32 {
        if self.next == LEN {
            self.refill();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// Returns a uniform number in `[-1, 1)` with 53 random bits. The first of two words has the high bits.
    fn next_uniform(&mut self) -> f64 {
        let high = u64::from(self.next_u32());
        let bits = (high << 32 | u64::from(self.next_u32())) & ((1 << 53) - 1);
        2.0 * (bits as f64 / (1_u64 << 53) as f64) - 1.0
    }
}

/// Returns the first `count` uniform numbers in `[-1, 1)` of the generator with this seed.
pub(super) fn uniforms(seed: u32, count: usize) -> Vec<f64> {
    let mut generator = Mt19937::new(seed);
    (0..count).map(|_| generator.next_uniform()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_reference_implementation() {
        // The 10,000th output for the default seed is fixed by the C++ standard (std::mt19937).
        let mut generator = Mt19937::new(5489);
        let word = (0..10_000).map(|_| generator.next_u32()).last();
        assert_eq!(word, Some(4_123_659_995));
    }

    #[test]
    fn uniforms_match_published_values() {
        let expected = [-0.492_545_359_46, 0.549_408_663_50, -0.329_563_526_99, 0.439_879_315_42];
        for (value, expected) in uniforms(2024, 4).into_iter().zip(expected) {
            assert!((value - expected).abs() < 1e-10, "{value} is not {expected}");
        }
    }
}
