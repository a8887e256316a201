/// Returns the median of values in any order, or `None` for no values. The median of an even number of values is the mean of the two in
/// the middle. Reorders `values`.
///
/// ```
/// assert_eq!(passnet_score::median(&mut [3.0, 1.0, 2.0]), Some(2.0));
/// assert_eq!(passnet_score::median(&mut [4.0, 1.0, 2.0, 3.0]), Some(2.5));
/// assert_eq!(passnet_score::median(&mut []), None);
/// ```
pub fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    let even = values.len().is_multiple_of(2);
    // Selection is faster than sorting, and the bootstrap computes thousands of medians for each measurement.
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if !even {
        return Some(upper);
    }
    let lower = below.iter().copied().max_by(f64::total_cmp)?;
    Some(f64::midpoint(lower, upper))
}
