//! Inputs of a graph that a call must not change, even if it restores them.

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

use super::memory::TensorMemory;

/// Addresses of the protected inputs.
static INPUTS: Mutex<Vec<Range<usize>>> = Mutex::new(Vec::new());

/// Sets the memory that kernels cannot write to in guarded calls from now on.
pub fn protect_inputs(memory: Vec<Range<usize>>) {
    *INPUTS.lock().unwrap_or_else(PoisonError::into_inner) = memory;
}

/// Returns the tensors of a call. A tensor that overlaps a protected input is read-only.
pub(super) fn without_writes_to_inputs(tensors: &[TensorMemory]) -> Vec<TensorMemory> {
    let inputs = INPUTS.lock().unwrap_or_else(PoisonError::into_inner);
    let is_input = |tensor: &TensorMemory| {
        inputs.iter().any(|input| tensor.address < input.end && input.start < tensor.address + tensor.nbytes)
    };
    tensors
        .iter()
        .map(|tensor| TensorMemory { is_written: tensor.is_written && !is_input(tensor), ..*tensor })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_that_overlap_an_input_are_read_only() {
        let tensor = |address| TensorMemory { parameter: 0, address, nbytes: 64, is_written: true };
        let tensors = [tensor(0x100), tensor(0x13f), tensor(0x140), tensor(0x17f), tensor(0x180)];
        protect_inputs(vec![0x140..0x180, 0x900..0x900]);
        let written: Vec<_> = without_writes_to_inputs(&tensors).iter().map(|tensor| tensor.is_written).collect();
        protect_inputs(Vec::new());
        assert_eq!(written, [true, false, false, false, true]);
    }
}
