//! Random numbers that depend only on a key and a position.
//!
//! Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011) maps a 64-bit key and a 128-bit
//! counter to 128 random bits. The key is the seed; the counter is (index of the group of four elements, hash of the tensor's name).
//! Threads can therefore make any part of any tensor in any order, and the values of a tensor do not depend on the other tensors.

/// A stream of random numbers, given by a seed and the name of the tensor that is filled.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    key: [u32; 2],
    name: [u32; 2],
}

impl Stream {
    /// Returns the stream for a name and a seed.
    pub fn new(seed: u64, name: &str) -> Self {
        let hash = blake3::hash(name.as_bytes());
        let (words, _) = hash.as_bytes().as_chunks();
        let name = match *words {
            [first, second, ..] => [u32::from_le_bytes(first), u32::from_le_bytes(second)],
            _ => [0; 2],
        };
        Self { key: [seed as u32, (seed >> 32) as u32], name }
    }

    /// Returns 128 random bits.
    pub fn group(self, index: u64) -> [u32; 4] {
        philox([index as u32, (index >> 32) as u32, self.name[0], self.name[1]], self.key)
    }

    /// Returns four standard normal variates (Box-Muller on the two pairs of words of the group). The largest magnitude is 6.76.
    pub fn normals(self, index: u64) -> [f64; 4] {
        let [a, b, c, d] = self.group(index);
        let ([x, y], [z, w]) = (box_muller(a, b), box_muller(c, d));
        [x, y, z, w]
    }
}

/// Number of groups that [`Stream::fill_normals`] makes at a time, so that the arrays of one batch stay in the first-level cache.
pub(crate) const BATCH: usize = 16;

impl Stream {
    /// Fills `out` with the normal variates of up to [`BATCH`] consecutive groups. The values are those of [`Self::normals`].
    pub(crate) fn fill_normals(self, first: u64, out: &mut [[f64; 4]; BATCH]) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the CPU has the features that the function is compiled for.
            #[expect(unsafe_code, reason = "a CPU feature found at run time")]
            return unsafe { self.fill_normals_avx2(first, out) };
        }
        self.fill_normals_of(first, out);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn fill_normals_avx2(self, first: u64, out: &mut [[f64; 4]; BATCH]) {
        self.fill_normals_of(first, out);
    }

    /// Fills `out`, in a form that the compiler turns into the vector instructions that the caller is compiled for. Each step is one IEEE
    /// operation in any case, so the values do not depend on the vector length.
    #[expect(clippy::needless_range_loop, reason = "plain loops over lanes are what the compiler makes vectors of")]
    #[inline(always)]
    fn fill_normals_of(self, first: u64, out: &mut [[f64; 4]; BATCH]) {
        let mut words = [[0; BATCH]; 4];
        for lane in 0..BATCH {
            let group = self.group(first.wrapping_add(lane as u64));
            (0..4).for_each(|word| words[word][lane] = group[word]);
        }
        for pair in 0..2 {
            // Each step is a plain loop, because closures would be compiled without the caller's vector instructions.
            let [mut radii, mut sines, mut cosines] = [[0.0; BATCH]; 3];
            for lane in 0..BATCH {
                radii[lane] = radius(words[2 * pair][lane]);
            }
            for lane in 0..BATCH {
                (sines[lane], cosines[lane]) = sin_cos_turn(words[2 * pair + 1][lane]);
            }
            for lane in 0..BATCH {
                out[lane][2 * pair] = radii[lane] * cosines[lane];
                out[lane][2 * pair + 1] = radii[lane] * sines[lane];
            }
        }
    }
}

#[inline(always)]
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let first = u64::from(counter[0]) * 0xd251_1f53;
        let second = u64::from(counter[2]) * 0xcd9e_8d57;
        counter = [
            (second >> 32) as u32 ^ counter[1] ^ key[0],
            second as u32,
            (first >> 32) as u32 ^ counter[3] ^ key[1],
            first as u32,
        ];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    counter
}

#[inline(always)]
fn box_muller(a: u32, b: u32) -> [f64; 2] {
    let radius = radius(a);
    let (sin, cos) = sin_cos_turn(b);
    [radius * cos, radius * sin]
}

/// Returns the length of a pair of normals.
#[inline(always)]
fn radius(word: u32) -> f64 {
    // Half a unit is added so that the logarithm never sees zero.
    (-2.0 * ln((f64::from(word) + 0.5) * 2.0_f64.powi(-32))).sqrt()
}

/// Returns the natural logarithm of a normal number in (0, 1), to about 1e-12. The logarithm, sine and cosine are implemented here
/// because those of C libraries differ in the last bits, and inputs must be the same everywhere.
#[inline(always)]
fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i32 - 1023;
    let mut mantissa = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 1023 << 52);
    // There are no branches here and below, because on random numbers each branch would be mispredicted half of the time.
    let high = mantissa > std::f64::consts::SQRT_2;
    mantissa *= if high { 0.5 } else { 1.0 };
    exponent += i32::from(high);
    // ln m = 2 artanh(s), s = (m - 1) / (m + 1), |s| <= 0.172.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let q = s * s;
    let sum = horner(q, [1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0]);
    f64::from(exponent) * std::f64::consts::LN_2 + 2.0 * s * sum
}

/// Returns sine and cosine of `word / 2^32` of a turn, to about 1e-12.
#[inline(always)]
fn sin_cos_turn(word: u32) -> (f64, f64) {
    // The angle is split into the nearest quarter turn and a rest of at most an eighth of a turn in either direction.
    let quadrant = word.wrapping_add(1 << 29) >> 30;
    let rest = word.wrapping_sub(quadrant << 30) as i32;
    let x = f64::from(rest) * (std::f64::consts::TAU * 2.0_f64.powi(-32));
    let q = x * x;
    let sin = x * horner(q, [-1.0 / 39_916_800.0, 1.0 / 362_880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0, 1.0]);
    let cos = horner(q, [1.0 / 479_001_600.0, -1.0 / 3_628_800.0, 1.0 / 40_320.0, -1.0 / 720.0, 1.0 / 24.0, -0.5, 1.0]);
    // By quadrant: (sin, cos), (cos, -sin), (-sin, -cos), (-cos, sin).
    let (first, second) = if quadrant & 1 == 1 { (cos, sin) } else { (sin, cos) };
    (flip_sign(first, quadrant), flip_sign(second, quadrant.wrapping_add(1)))
}

/// Returns the value with its sign changed if the second bit is set.
#[inline(always)]
fn flip_sign(value: f64, bits: u32) -> f64 {
    f64::from_bits(value.to_bits() ^ u64::from(bits >> 1 & 1) << 63)
}

/// Returns the value of a polynomial at `x`. `terms` are its coefficients, the highest first.
#[inline(always)]
fn horner<const N: usize>(x: f64, terms: [f64; N]) -> f64 {
    let mut sum = 0.0;
    for term in terms {
        sum = sum * x + term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        // From the test vectors of the Random123 library.
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox([u32::MAX; 4], [u32::MAX; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    }

    #[test]
    fn elementary_functions_agree_with_the_platform() {
        for word in (0..u32::MAX).step_by(65_521) {
            let x = (f64::from(word) + 0.5) * 2.0_f64.powi(-32);
            assert!((ln(x) - x.ln()).abs() < 2e-11, "ln {x}");
            let (sin, cos) = sin_cos_turn(word);
            let angle = f64::from(word) * 2.0_f64.powi(-32) * std::f64::consts::TAU;
            assert!((sin - angle.sin()).abs() < 1e-9 && (cos - angle.cos()).abs() < 1e-9, "{word}");
        }
    }

    #[test]
    fn batches_are_the_same_numbers() {
        let stream = Stream::new(11, "x");
        for first in [0, 1_000_003, u64::MAX - 3] {
            let mut batch = [[0.0; 4]; BATCH];
            stream.fill_normals(first, &mut batch);
            for (lane, normals) in (0..).zip(batch) {
                assert_eq!(normals, stream.normals(first.wrapping_add(lane)));
            }
        }
    }

    #[test]
    fn normals_are_normal() {
        let stream = Stream::new(7, "x");
        let values: Vec<f64> = (0..25_000).flat_map(|index| stream.normals(index)).collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let moment = |power| values.iter().map(|v| (v - mean).powi(power)).sum::<f64>() / n;
        assert!(mean.abs() < 0.02 && (moment(2) - 1.0).abs() < 0.02, "{mean} {}", moment(2));
        assert!(moment(3).abs() < 0.05 && (moment(4) - 3.0).abs() < 0.1, "{} {}", moment(3), moment(4));
        assert_ne!(Stream::new(8, "x").group(0), stream.group(0));
        assert_ne!(Stream::new(7, "y").group(0), stream.group(0));
    }
}
