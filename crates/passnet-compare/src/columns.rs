//! Differences in columns that are so small that the absolute part of a tolerance would accept zeros.
//!
//! Where a graph joins two results along the last dimension, or scales some columns by 1e-3, each row has large elements that hide the small
//! ones.

use half::{bf16, f16};
use passnet_record::DType;

use crate::{VanishingTerms, element::Element, loose::ABOVE_MOST, vanishing::vanishing_difference};

/// Least number of elements of a column. All elements of a shorter one can be small by chance.
const LEAST_ROWS: usize = 64;

/// Returns [`vanishing_difference`] for the columns of a tensor in place of its rows: the elements with the same place in all rows of `width`
/// elements. Columns of less than 64 elements are not judged.
pub fn vanishing_column(
    dtype: DType,
    candidate: &[u8],
    eager: &[u8],
    float64: Option<&[u8]>,
    width: u64,
    terms: VanishingTerms,
) -> Option<u64> {
    let columns = match dtype {
        DType::Float64 => small_columns::<f64>(candidate, eager, width, terms.atol),
        DType::Float32 => small_columns::<f32>(candidate, eager, width, terms.atol),
        DType::Float16 => small_columns::<f16>(candidate, eager, width, terms.atol),
        DType::BFloat16 => small_columns::<bf16>(candidate, eager, width, terms.atol),
        _ => return None,
    };
    if columns.is_empty() {
        return None;
    }
    let rows = eager.len() / dtype.size() / width as usize;
    let gather = |bytes: &[u8], size: usize| transposed(bytes, size, width as usize, &columns);
    let found = vanishing_difference(
        dtype,
        &gather(candidate, dtype.size()),
        &gather(eager, dtype.size()),
        float64.map(|truth| gather(truth, size_of::<f64>())).as_deref(),
        rows as u64,
        terms,
    )? as usize;
    Some((found % rows) as u64 * width + columns[found / rows] as u64)
}

/// Returns the columns that differ and of which at most a tenth of the elements exceeds a quarter of `atol`, next to larger ones.
fn small_columns<E: Element>(candidate: &[u8], eager: &[u8], width: u64, atol: f64) -> Vec<usize> {
    let width = usize::try_from(width).unwrap_or(usize::MAX);
    let size = size_of::<E>();
    if width < 2 || candidate == eager || candidate.len() != eager.len() || eager.len() / size / width < LEAST_ROWS {
        return Vec::new();
    }
    let rows = eager.len() / size / width;
    let (mut above, mut differs) = (vec![0_usize; width], vec![false; width]);
    for (eager, candidate) in eager.chunks_exact(width * size).zip(candidate.chunks_exact(width * size)) {
        let elements = E::elements(eager).zip(E::elements(candidate));
        for ((above, differs), (eager, candidate)) in above.iter_mut().zip(&mut differs).zip(elements) {
            *above += usize::from(eager.magnitude() * ABOVE_MOST >= atol);
            *differs |= eager.distance(candidate) != 0.0;
        }
    }
    let is_small = |column: &usize| above[*column] * 10 <= rows;
    // If all columns are small, so are the rows.
    if (0..width).all(|column| is_small(&column)) {
        return Vec::new();
    }
    (0..width).filter(|column| is_small(column) && differs[*column]).collect()
}

/// Returns the chosen columns, one after the other.
fn transposed(bytes: &[u8], size: usize, width: usize, columns: &[usize]) -> Vec<u8> {
    let rows = bytes.len() / size / width;
    let mut out = Vec::with_capacity(rows * columns.len() * size);
    for column in columns {
        for row in 0..rows {
            out.extend_from_slice(&bytes[(row * width + column) * size..][..size]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: VanishingTerms = VanishingTerms { atol: 1e-2, relative: 1e-2, ordinary: 0.0 };

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    /// Returns `rows` rows of two ordinary columns and a small one, which `small` makes of its value.
    fn tensor(rows: usize, small: impl Fn(f32) -> f32) -> Vec<f32> {
        (0..rows).flat_map(|row| [1.0, 2.0, small(1e-4 * (row % 7) as f32)]).collect()
    }

    /// A pass that left out the second part of `cat([x, 0.001 * gelu(x)])` was accepted.
    #[test]
    fn zeros_in_small_columns_are_wrong() {
        let search = |rows: usize, small: fn(f32) -> f32| {
            let (eager, candidate) = (tensor(rows, |value| value), tensor(rows, small));
            let truth: Vec<u8> = eager.iter().flat_map(|value| f64::from(*value).to_ne_bytes()).collect();
            let find = |truth| vanishing_column(DType::Float32, &bytes(&candidate), &bytes(&eager), truth, 3, TERMS);
            [find(None), find(Some(truth.as_slice()))]
        };
        let found = search(80, |_| 0.0);
        assert!(found.iter().all(|place| place.is_some_and(|place| place % 3 == 2)), "{found:?}");
        assert_eq!(search(80, |value| value * 1.001), [None; 2]);
        assert_eq!(search(80, |value| value), [None; 2]);
        assert_eq!(search(20, |_| 0.0), [None; 2]);
    }
}
