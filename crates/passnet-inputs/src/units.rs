//! Contents whose values are near 1, or have many magnitudes.
//!
//! In random contents, a product of many elements is zero, and most recorded deviations are far below 1. A pass could return zeros, or be
//! wrong for values between the largest usual one and those of `large` contents, whose bounds are loose.

use passnet_record::TensorMeta;

use crate::philox::Stream;
use crate::real::Real;

/// Deviation of magnitudes near 1. Products of a thousand of them are ordinary numbers.
const NEAR: f64 = 0.02;
/// Mean magnitude of a standard normal variate.
const USUAL: f64 = 0.8;
/// Number of powers of two in one deviation of a row of many magnitudes.
const STEEPNESS: f64 = 2.2;
/// Base-2 logarithm of the least magnitude of such a row.
const LEAST: f64 = -2.0;
/// First group of random words for rows.
const ROW_GROUPS: u64 = 1 << 58;

/// Kind of a row.
#[derive(Clone, Copy)]
enum Row {
    /// Near 1 and -1.
    BothSigns,
    /// Near 1.
    OneSign,
    /// Many magnitudes, of both signs.
    Magnitudes,
}

/// Gives the rows of a filled tensor, in turns, values near 1 and -1, values near 1, and values of many magnitudes. `deviations` returns the
/// distance of a value from the mean in deviations, and `within` applies the bounds of the tensor.
pub(crate) fn change<R: Real>(
    meta: &TensorMeta,
    stream: Stream,
    out: &mut [u8],
    deviations: impl Fn(f64) -> f64,
    within: impl Fn(f64) -> f64,
) {
    let width = meta.shape.last().map_or(1, |&width| width.max(1)) as usize;
    let [start, ..] = stream.group(ROW_GROUPS);
    for (number, row) in (u64::from(start)..).zip(out.chunks_mut(width * R::SIZE)) {
        let kind = match number % 3 {
            0 => Row::BothSigns,
            1 => Row::OneSign,
            _ => Row::Magnitudes,
        };
        for element in row.chunks_exact_mut(R::SIZE) {
            R::store(within(value(kind, deviations(R::load(element)))), element);
        }
    }
}

fn value(row: Row, deviations: f64) -> f64 {
    let sign = if deviations < 0.0 { -1.0 } else { 1.0 };
    match row {
        Row::BothSigns => sign * (1.0 + NEAR * (deviations.abs() - USUAL)),
        Row::OneSign => 1.0 + NEAR * deviations,
        Row::Magnitudes => {
            // A line between two powers of two: a power of the C library differs between platforms.
            let exponent = LEAST + STEEPNESS * deviations.abs();
            sign * 2_f64.powi(exponent.floor() as i32) * (1.0 + exponent - exponent.floor())
        }
    }
}

#[cfg(test)]
mod tests {
    use passnet_record::DType;

    use super::*;
    use crate::{Content, fill, tests::meta};

    /// A product of all elements of a row that was always zero was accepted.
    #[test]
    fn products_of_rows_are_ordinary_numbers_and_some_rows_have_all_magnitudes() {
        for (dtype, std) in [(DType::Float32, 1.0), (DType::Float32, 0.02), (DType::Float64, 1.0)] {
            let meta = TensorMeta { std: Some(std), mean: Some(0.0), ..meta(dtype, &[9, 1024]) };
            let load = |bytes: &[u8]| if dtype == DType::Float64 { f64::load(bytes) } else { f32::load(bytes) };
            let bytes = fill(&meta, 5, Content::Units).unwrap();
            let rows: Vec<Vec<f64>> =
                bytes.chunks(1024 * dtype.size()).map(|row| row.chunks(dtype.size()).map(load).collect()).collect();
            let product = |row: &Vec<f64>| row.iter().product::<f64>().abs();
            assert_eq!(rows.iter().filter(|row| (1e-6..1e6).contains(&product(row))).count(), 6);
            assert_eq!(rows.iter().filter(|row| row.iter().all(|value| *value > 0.5)).count(), 3);
            let has = |row: &&Vec<f64>, low: f64, high: f64| row.iter().any(|v| (low..high).contains(v));
            let wide = |row: &&Vec<f64>| has(row, 5.0, 20.0) && has(row, -20.0, -5.0) && has(row, 0.0, 0.5);
            assert_eq!(rows.iter().filter(wide).count(), 3);
        }
    }

    #[test]
    fn bounds_of_the_metadata_hold() {
        let meta = TensorMeta { min_val: Some(0.0), max_val: Some(3.0), ..meta(DType::Float32, &[6, 200]) };
        let bytes = fill(&meta, 5, Content::Units).unwrap();
        assert!(bytes.chunks(4).map(f32::load).all(|value| (0.0..=3.0).contains(&value)));
    }
}
