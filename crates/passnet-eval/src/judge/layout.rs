//! Layout of outputs in memory: their strides, and the memory that they share.
//!
//! Code that uses a graph's outputs may rely on both. A kernel that assumes certain strides reads wrong elements of a transposed view. A
//! write to one output must not change another output.

use passnet_record::{Layout, OutputValue, ReasonDetail, Remark, Status, WorkerNote};

use crate::{failure::Failure, worker::Returned};

/// Strides that outputs may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LayoutRule {
    /// Any strides.
    #[default]
    Any,
    /// The strides of the reference, or another order of the dimensions without gaps. Compilers of whole graphs choose such orders, and
    /// no code after the graph was compiled for the reference's strides.
    Dense,
    /// The strides of the reference.
    Same,
}

/// Returns an error for an output with strides that the rule forbids, or one that shares memory with another output where the reference's
/// does not. Both sides must return the same number of values with the same shapes.
pub(super) fn refuse_other_layout(rule: LayoutRule, reference: &Returned, candidate: &Returned) -> Result<(), Failure> {
    if rule == LayoutRule::Any {
        return Ok(());
    }
    let (expected, got) = (Placed::all(reference), Placed::all(candidate));
    for (index, (expected, got)) in expected.iter().zip(&got).enumerate() {
        if let (Some(expected), Some(got)) = (expected, got)
            && !expected.is_laid_out_like(got)
            && !(rule == LayoutRule::Dense && expected.is_dense() && got.is_dense())
        {
            return Err(layout_differs(index, expected, got));
        }
    }
    let shared = |outputs: &[Option<Placed<'_>>], first: usize, second: usize| {
        outputs[first].as_ref().zip(outputs[second].as_ref()).is_some_and(|(a, b)| a.overlaps(b))
    };
    for second in 1..got.len() {
        if let Some(first) = (0..second).find(|&first| shared(&got, first, second) && !shared(&expected, first, second))
        {
            return Err(outputs_share_memory(first, second));
        }
    }
    Ok(())
}

fn layout_differs(index: usize, expected: &Placed<'_>, got: &Placed<'_>) -> Failure {
    let message = format!(
        "output {index} ({} {:?}): expected strides {:?}, got {:?}; the elements are right only if they lie where the graph's do: \
         allocate the result with the graph's strides (`torch.empty_strided`) and write it in that order",
        got.layout.dtype, got.layout.shape, expected.stride, got.stride
    );
    let detail = ReasonDetail {
        output: Some(index),
        expected: Some(format!("{:?}", expected.stride)),
        got: Some(format!("{:?}", got.stride)),
        ..ReasonDetail::default()
    };
    Failure::new(Status::LayoutDiffers, "layout_differs", message).with_detail(detail)
}

fn outputs_share_memory(first: usize, second: usize) -> Failure {
    let message = format!(
        "outputs {first} and {second} share memory, where the graph returns separate tensors: a write to one would show in the \
         other; allocate one tensor for each"
    );
    Failure::new(Status::OutputsShareMemory, "outputs_share_memory", message)
        .with_detail(ReasonDetail { outputs: Some([first, second]), ..ReasonDetail::default() })
}

/// A tensor with at least one element, with its place in memory.
struct Placed<'a> {
    layout: &'a Layout,
    stride: &'a [i64],
    device: &'a str,
    address: u64,
}

impl<'a> Placed<'a> {
    /// Returns one entry per output; `None` for an output without memory.
    fn all(returned: &'a Returned) -> Vec<Option<Self>> {
        returned.outputs.values.iter().map(Self::of).collect()
    }

    fn of(value: &'a OutputValue) -> Option<Self> {
        match value {
            OutputValue::Tensor { layout, stride, device, address } if layout.nbytes > 0 => {
                Some(Self { layout, stride, device, address: *address })
            }
            _ => None,
        }
    }

    /// Returns extent and stride of each dimension with more than one element.
    fn steps(&self) -> impl Iterator<Item = (u64, i64)> {
        self.layout.shape.iter().copied().zip(self.stride.iter().copied()).filter(|&(extent, _)| extent > 1)
    }

    fn is_laid_out_like(&self, other: &Self) -> bool {
        self.steps().eq(other.steps())
    }

    /// Returns whether every place in memory between the first and the last element belongs to exactly one element.
    fn is_dense(&self) -> bool {
        let mut steps: Vec<_> = self.steps().collect();
        steps.sort_by_key(|&(_, stride)| stride);
        let mut next = Some(1);
        for (extent, stride) in steps {
            if next.is_none() || next != u64::try_from(stride).ok() {
                return false;
            }
            next = next.and_then(|next| next.checked_mul(extent));
        }
        true
    }

    /// Returns whether the spans from the first to the last element overlap. Interleaved views without a common element also count as
    /// overlapping.
    fn overlaps(&self, other: &Self) -> bool {
        let ((start, end), (other_start, other_end)) = (self.span(), other.span());
        self.device == other.device && start < other_end && other_start < end
    }

    fn span(&self) -> (i128, i128) {
        let size = self.layout.dtype.size() as i128;
        let start = i128::from(self.address);
        // A worker may report any numbers. Saturated sums overlap with everything, which only harms the candidate of that worker.
        let reach = self.steps().fold(0_i128, |reach, (extent, stride)| {
            reach.saturating_add((i128::from(extent) - 1).saturating_mul(i128::from(stride.max(0))))
        });
        (start, start.saturating_add(reach.saturating_add(1).saturating_mul(size)))
    }
}

/// Returns remarks on layouts that differ. They include differences that are failures in `sound` mode.
pub(crate) fn remarks(reference: &Returned, candidate: &Returned) -> std::collections::BTreeSet<Remark> {
    let mut notes = std::collections::BTreeSet::new();
    for (index, values) in Placed::all(reference).iter().zip(&Placed::all(candidate)).enumerate() {
        if let (Some(expected), Some(got)) = values
            && !expected.is_laid_out_like(got)
        {
            notes.insert(Remark::StrideDiffers { output: index });
        }
    }
    let is_alias =
        |note: &&WorkerNote| matches!(note, WorkerNote::AliasesInput { .. } | WorkerNote::AliasesOutput { .. });
    let extra = candidate.outputs.notes.iter().filter(is_alias).filter(|note| !reference.outputs.notes.contains(note));
    notes.extend(extra.cloned().map(Remark::Worker));
    notes
}

#[cfg(test)]
mod tests {
    use passnet_record::{DType, Outputs};

    use super::*;

    /// Shape, strides, address of a float32 tensor.
    type Place<'a> = (&'a [u64], &'a [i64], u64);

    fn returned(places: &[Place<'_>]) -> Returned {
        let value = |&(shape, stride, address): &Place<'_>| OutputValue::Tensor {
            layout: Layout {
                name: String::new(),
                dtype: DType::Float32,
                shape: shape.to_vec(),
                offset: 0,
                nbytes: 4 * shape.iter().product::<u64>(),
            },
            stride: stride.to_vec(),
            device: "cpu".to_owned(),
            address,
        };
        let values = places.iter().map(value).collect();
        Returned { outputs: Outputs { values, mutated: Vec::new(), nbytes: 0, notes: Vec::new() }, bytes: Vec::new() }
    }

    fn check(reference: &[Place<'_>], candidate: &[Place<'_>], expected: Option<Status>) {
        let found = refuse_other_layout(LayoutRule::Same, &returned(reference), &returned(candidate)).err();
        assert_eq!(found.map(|failure| failure.status), expected, "{reference:?} {candidate:?}");
    }

    #[test]
    fn strides_matter_where_a_dimension_has_a_neighbour() {
        let differs = Some(Status::LayoutDiffers);
        check(&[(&[3, 4], &[4, 1], 64)], &[(&[3, 4], &[4, 1], 640)], None);
        check(&[(&[3, 4], &[4, 1], 64)], &[(&[3, 4], &[1, 3], 64)], differs);
        check(&[(&[3, 4], &[4, 1], 64)], &[(&[3, 4], &[8, 1], 64)], differs);
        check(&[(&[3, 4], &[4, 1], 64)], &[(&[3, 4], &[0, 1], 64)], differs);
        check(&[(&[1, 4], &[4, 1], 64)], &[(&[1, 4], &[1, 1], 64)], None);
        check(&[(&[0, 4], &[4, 1], 0)], &[(&[0, 4], &[1, 1], 0)], None);
        check(&[(&[], &[], 64)], &[(&[], &[], 64)], None);
    }

    #[test]
    fn a_compiler_may_choose_another_dense_order() {
        let allowed = |expected: Place<'_>, got: Place<'_>| {
            refuse_other_layout(LayoutRule::Dense, &returned(&[expected]), &returned(&[got])).is_ok()
        };
        let shape = &[2, 3, 4];
        let contiguous = (&shape[..], &[12, 4, 1][..], 64);
        assert!(allowed(contiguous, (shape, &[12, 1, 3], 64)));
        assert!(allowed((shape, &[1, 2, 6], 64), contiguous));
        assert!(!allowed(contiguous, (shape, &[0, 4, 1], 64)), "expanded");
        assert!(!allowed(contiguous, (shape, &[24, 4, 1], 64)), "with gaps");
        assert!(!allowed(contiguous, (shape, &[4, 4, 1], 64)), "overlapping");
        assert!(!allowed((shape, &[0, 4, 1], 64), contiguous), "the graph's result is expanded");
        assert!(allowed((shape, &[0, 4, 1], 64), (shape, &[0, 4, 1], 640)));
    }

    #[test]
    fn memory_is_shared_where_the_graph_shares_it() {
        let shares = Some(Status::OutputsShareMemory);
        let place = |address| (&[4_u64][..], &[1_i64][..], address);
        let separate = [place(64), place(80)];
        check(&separate, &[place(64), place(64)], shares);
        check(&separate, &[place(64), place(76)], shares);
        check(&separate, &separate, None);
        check(&[place(64), place(64)], &separate, None);
        check(&[place(64), place(64)], &[place(640), place(640)], None);
        check(&[place(0), place(16), place(16)], &[place(0), place(0), place(0)], shares);
        let rows = (&[2_u64, 2][..], &[8_i64, 1][..]);
        check(&[(rows.0, rows.1, 0), (rows.0, rows.1, 64)], &[(rows.0, rows.1, 0), (rows.0, rows.1, 8)], shares);
        check(&[(&[0], &[1], 0), (&[0], &[1], 64)], &[(&[0], &[1], 64), (&[0], &[1], 64)], None);
    }

    #[test]
    fn lies_about_strides_overflow_nothing() {
        let lie = (&[2_u64, 2, 2][..], &[i64::MAX, i64::MAX, i64::MIN][..], u64::MAX);
        check(&[lie, lie], &[lie, lie], None);
    }
}
