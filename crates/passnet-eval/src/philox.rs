//! Random numbers that depend on nothing but a key and a position.
//!
//! Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011) maps a 64-bit
//! key and a 128-bit counter to 128 random bits. The key is the seed; the counter is (index of the group of four
//! elements, hash of the tensor's name). Any part of any tensor can therefore be made by any thread in any order, and
//! no tensor's values depend on which others exist.

/// One stream: a seed and the name of what is filled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    key: [u32; 2],
    name: [u32; 2],
}

impl Stream {
    /// The stream of a name under a seed.
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        let hash = blake3::hash(name.as_bytes());
        let (words, _) = hash.as_bytes().as_chunks();
        let name = match *words {
            [first, second, ..] => [u32::from_le_bytes(first), u32::from_le_bytes(second)],
            _ => [0; 2],
        };
        Self { key: [seed as u32, (seed >> 32) as u32], name }
    }

    /// 128 random bits.
    pub(crate) fn group(self, index: u64) -> [u32; 4] {
        philox([index as u32, (index >> 32) as u32, self.name[0], self.name[1]], self.key)
    }

    /// Four standard normal variates (Box-Muller on the group's two pairs of words). The largest magnitude is 6.76.
    pub(crate) fn normals(self, index: u64) -> [f64; 4] {
        let [a, b, c, d] = self.group(index);
        let ([x, y], [z, w]) = (box_muller(a, b), box_muller(c, d));
        [x, y, z, w]
    }
}

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

fn box_muller(a: u32, b: u32) -> [f64; 2] {
    // Half a unit is added so that the logarithm never sees zero.
    let radius = (-2.0 * ln((f64::from(a) + 0.5) * 2.0_f64.powi(-32))).sqrt();
    let (sin, cos) = sin_cos_turn(b);
    [radius * cos, radius * sin]
}

/// Natural logarithm of a normal number in (0, 1), to about 1e-12. Written out, as are sine and cosine, because the
/// platform's own differ in the last bits from one C library to the next, and inputs must not.
fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i32 - 1023;
    let mut mantissa = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 1023 << 52);
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    // ln m = 2 artanh(s), s = (m - 1) / (m + 1), |s| <= 0.172.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let q = s * s;
    let series = [1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0];
    let sum = series.into_iter().fold(0.0, |sum, term| sum * q + term);
    f64::from(exponent) * std::f64::consts::LN_2 + 2.0 * s * sum
}

/// Sine and cosine of `word / 2^32` of a turn, to about 1e-12.
fn sin_cos_turn(word: u32) -> (f64, f64) {
    // The nearest quarter turn, and what is left of the angle: at most an eighth of a turn either way.
    let quadrant = word.wrapping_add(1 << 29) >> 30;
    let rest = word.wrapping_sub(quadrant << 30) as i32;
    let x = f64::from(rest) * (std::f64::consts::TAU * 2.0_f64.powi(-32));
    let q = x * x;
    let horner = |terms: &[f64]| terms.iter().fold(0.0, |sum, term| sum * q + term);
    let sin = x * horner(&[-1.0 / 39_916_800.0, 1.0 / 362_880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0, 1.0]);
    let cos = horner(&[1.0 / 479_001_600.0, -1.0 / 3_628_800.0, 1.0 / 40_320.0, -1.0 / 720.0, 1.0 / 24.0, -0.5, 1.0]);
    match quadrant {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    }
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
