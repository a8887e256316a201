//! The kernel that is part of the launcher: it copies a tensor to other strides.

/// Number of dimensions of both tensors; missing ones have one element.
const RANK: usize = 6;
/// Number of parameters of [`copy_elements`].
const WORDS: usize = 6 + 3 * RANK;

/// Copies the elements of a tensor to another one of the same shape.
///
/// The words are the addresses of both tensors, the bytes of an element (1, 2, 4, 8 or 16), the number of parts of the work, the shape,
/// the strides of each tensor, and a range of parts.
///
/// # Safety
///
/// All of these words must be present, and the memory of both tensors must be valid and must not overlap.
#[expect(unsafe_code, reason = "called by address, with addresses")]
pub unsafe extern "C" fn copy_elements(words: *const u64) {
    // SAFETY: the caller guarantees the requirements.
    let words = unsafe { std::slice::from_raw_parts(words, WORDS) };
    let copy = Copy::of(words);
    // SAFETY: the caller guarantees the requirements.
    unsafe {
        match words[2] {
            1 => copy.run::<u8>(),
            2 => copy.run::<u16>(),
            4 => copy.run::<u32>(),
            8 => copy.run::<u64>(),
            // An element of 16 bytes is copied as two 64-bit numbers, because its alignment may be 8.
            _ => copy.run::<[u64; 2]>(),
        }
    }
}

/// Rows, along the last dimension, to copy.
struct Copy {
    from: u64,
    to: u64,
    shape: [u64; RANK],
    from_stride: [u64; RANK],
    to_stride: [u64; RANK],
    first: u64,
    end: u64,
}

impl Copy {
    fn of(words: &[u64]) -> Self {
        let six = |at: usize| std::array::from_fn(|dim| words[at + dim]);
        let shape: [u64; RANK] = six(4);
        let rows: u64 = shape[..RANK - 1].iter().product();
        let row = |part: u64| (u128::from(rows) * u128::from(part) / u128::from(words[3].max(1))) as u64;
        Self {
            from: words[0],
            to: words[1],
            shape,
            from_stride: six(4 + RANK),
            to_stride: six(4 + 2 * RANK),
            first: row(words[WORDS - 2]),
            end: row(words[WORDS - 1]),
        }
    }

    /// # Safety
    ///
    /// As [`copy_elements`]; elements are of type `T`.
    #[expect(unsafe_code, reason = "reads and writes at addresses")]
    unsafe fn run<T: std::marker::Copy>(&self) {
        let last = RANK - 1;
        for row in self.first..self.end {
            let (mut left, mut from, mut to) = (row, 0, 0);
            for dim in (0..last).rev() {
                let place = left % self.shape[dim];
                left /= self.shape[dim];
                from += place * self.from_stride[dim];
                to += place * self.to_stride[dim];
            }
            // SAFETY: both places are those of the row's first element.
            let (from, to) =
                unsafe { ((self.from as *const T).add(from as usize), (self.to as *mut T).add(to as usize)) };
            for place in 0..self.shape[last] {
                let [read, written] = [self.from_stride, self.to_stride].map(|stride| (place * stride[last]) as usize);
                // SAFETY: an element of the row.
                unsafe { to.add(written).write(from.add(read).read()) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Copies a matrix of 3 rows and 4 columns to its transpose's layout, some parts at a time.
    fn transposed<T: std::marker::Copy + From<u8> + Default>(parts: u64) -> Vec<T> {
        let from: Vec<T> = (0..12).map(T::from).collect();
        let mut to = vec![T::default(); 12];
        for part in 0..parts {
            let mut words = vec![from.as_ptr() as u64, to.as_mut_ptr() as u64, size_of::<T>() as u64, parts];
            words.extend([1, 1, 1, 1, 3, 4, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 1, 3, part, part + 1]);
            // SAFETY: the words are those of two matrices of this size.
            #[expect(unsafe_code, reason = "called by address")]
            unsafe {
                copy_elements(words.as_ptr());
            }
        }
        to
    }

    #[test]
    fn every_element_is_copied_to_its_place() {
        for parts in [1, 2, 5] {
            let expected: [u8; 12] = [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11];
            assert_eq!(transposed::<u8>(parts), expected);
            assert_eq!(transposed::<u16>(parts), expected.map(u16::from));
            assert_eq!(transposed::<u32>(parts), expected.map(u32::from));
            assert_eq!(transposed::<u64>(parts), expected.map(u64::from));
        }
    }
}
