//! Reads: the elements of buffers and of reductions from which one element of a tensor is computed.
//!
//! There are two counts. [`Tensors::distinct_reads`] counts each element once, as a kernel that keeps it in a register: the count tells how
//! much memory a row needs. [`Tensors::repeated_reads`] counts an element for each use: the count also tells how much is computed.

use std::collections::{BTreeMap, BTreeSet};

use super::tensor::{Def, TensorId, Tensors};

/// Number of reads of an element beyond which distinct reads are not counted.
const MOST_READS: i64 = 64;

impl Tensors {
    /// Returns the number of distinct reads: many for a convolution.
    pub(super) fn distinct_reads(&self, of: TensorId) -> i64 {
        self.count_distinct(of, &mut BTreeSet::new(), &mut BTreeMap::new())
    }

    /// Returns the number of reads, where an element counts as often as it is used.
    pub(super) fn repeated_reads(&self, of: TensorId) -> usize {
        let mut reads: Vec<usize> = Vec::with_capacity(of + 1);
        for tensor in 0..=of {
            let mut sum = 0_usize;
            self.for_each_operand(tensor, &mut |operand| sum = sum.saturating_add(reads[operand]));
            reads.push(if self.is_read(tensor) { 1 } else { sum });
        }
        reads[of]
    }

    /// Returns whether elements of the tensor are computed from any that kernels read.
    pub(super) fn reads_memory(&self, of: TensorId) -> bool {
        let (mut seen, mut rest) = (BTreeSet::new(), vec![of]);
        while let Some(tensor) = rest.pop() {
            if self.is_read(tensor) {
                return true;
            }
            if seen.insert(tensor) {
                self.for_each_operand(tensor, &mut |operand| rest.push(operand));
            }
        }
        false
    }

    /// Returns whether kernels read the elements of a tensor from memory, or from the result of a loop.
    fn is_read(&self, tensor: TensorId) -> bool {
        matches!(self[tensor].def, Def::Buffer { .. } | Def::Reduce { .. })
    }

    /// Counts distinct reads. `seen` holds the tensors that are counted already, `shown` the count of each tensor that a view
    /// shows.
    fn count_distinct(&self, of: TensorId, seen: &mut BTreeSet<TensorId>, shown: &mut BTreeMap<TensorId, i64>) -> i64 {
        if !seen.insert(of) {
            return 0;
        }
        let mut count = 0;
        match &self[of].def {
            _ if self.is_read(of) => count = 1,
            // Two views of one tensor read different elements of it, so each view counts.
            Def::View { of, .. } => {
                count = match shown.get(of) {
                    Some(&known) => known,
                    None => self.count_distinct(*of, &mut BTreeSet::new(), shown),
                };
                shown.insert(*of, count);
            }
            _ => self.for_each_operand(of, &mut |operand| {
                if count < MOST_READS {
                    count += self.count_distinct(operand, seen, shown);
                }
            }),
        }
        count.min(MOST_READS)
    }
}
