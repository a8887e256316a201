use std::collections::HashMap;

use crate::fold::{CanonicalSettings, SizeBounds, fold_canonical};

/// Kernel counts of all prefixes of one graph, and what they cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// `kernels[k - 1]` is the count of the first `k` ops.
    pub kernels: Vec<u32>,
    /// How many of the counts were asked for; the others were concluded.
    pub calls: usize,
}

/// Asks for the count of every prefix: the reference.
///
/// `count(k)` compiles the first `k` ops (1 up to `ops`).
///
/// # Errors
/// The first error of `count`.
pub fn measure_all<E>(ops: usize, count: impl FnMut(usize) -> Result<u32, E>) -> Result<Measured, E> {
    let kernels = (1..=ops).map(count).collect::<Result<Vec<_>, E>>()?;
    Ok(Measured { kernels, calls: ops })
}

/// Measures few prefixes and concludes the rest.
///
/// A graph is cut into pieces by canonical folding, so that repeated code gives equal pieces. The end of every piece is
/// measured. The inside is measured once for each distinct piece; where the same ops add the same number of kernels
/// again, after the same op before them, the counts inside are taken from the first time, and one of them (the place
/// of the first change) is measured as a check. A check that fails has the piece measured in full.
///
/// What is learnt is kept from graph to graph. The result equals [`measure_all`] as far as equal code in equal
/// surroundings adds kernels at equal places.
#[derive(Debug, Default)]
pub struct Bracketing {
    shapes: HashMap<Piece, Vec<Vec<i64>>>,
}

/// What must be equal for counts to be taken over.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Piece {
    /// Names of the op before the piece (if any), of its ops, and of the op after it (if any).
    ops: Vec<String>,
    /// Kernels that the piece adds.
    added: i64,
}

/// Sizes of pieces. Short pieces are alike more often, but each costs a measurement of its end.
const MIN_PIECE: u32 = 6;
const MAX_PIECE: u32 = 64;
const REACH: u32 = 12;

impl Bracketing {
    /// Knows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The counts of one graph, given its op names in program order.
    ///
    /// `count(k)` compiles the first `k` ops (1 up to the number of ops); it is called at most once for each `k`.
    ///
    /// # Errors
    /// The first error of `count`.
    pub fn measure<E>(&mut self, ops: &[String], count: impl FnMut(usize) -> Result<u32, E>) -> Result<Measured, E> {
        let mut counts = Counts { known: vec![None; ops.len()], count, calls: 0 };
        let mut begin = 0;
        for end in piece_ends(ops) {
            self.measure_piece(ops, begin, end, &mut counts)?;
            begin = end;
        }
        // Every place is known by now: each piece was measured or concluded.
        let kernels = counts.known.into_iter().flatten().collect();
        Ok(Measured { kernels, calls: counts.calls })
    }

    fn measure_piece<E, F: FnMut(usize) -> Result<u32, E>>(
        &mut self,
        ops: &[String],
        begin: usize,
        end: usize,
        counts: &mut Counts<F>,
    ) -> Result<(), E> {
        let base = if begin == 0 { 0 } else { i64::from(counts.at(begin)?) };
        let added = i64::from(counts.at(end)?) - base;
        let surroundings = begin.saturating_sub(1)..ops.len().min(end + 1);
        let piece = Piece { ops: ops[surroundings].to_vec(), added };
        for shape in self.shapes.get(&piece).into_iter().flatten() {
            let check = shape.iter().position(|&step| step != 0).unwrap_or(0);
            if i64::from(counts.at(begin + 1 + check)?) == base + shape[check] {
                counts.conclude(begin, base, shape);
                return Ok(());
            }
        }
        let shape = (begin + 1..=end).map(|k| Ok(i64::from(counts.at(k)?) - base)).collect::<Result<Vec<_>, E>>()?;
        self.shapes.entry(piece).or_default().push(shape);
        Ok(())
    }
}

/// Ends of the pieces, ascending, the last one at the end of the graph.
fn piece_ends(ops: &[String]) -> Vec<usize> {
    let Ok(bounds) = SizeBounds::new(MIN_PIECE, MAX_PIECE) else { return vec![ops.len()] };
    let ranges = fold_canonical(&[ops.to_vec()], &CanonicalSettings { bounds, reach: REACH });
    let mut ends: Vec<usize> = ranges.iter().flatten().flat_map(|r| [r.start as usize, r.end as usize]).collect();
    ends.push(ops.len());
    ends.dedup();
    ends.retain(|&end| end > 0);
    ends
}

/// Counts known so far, and where to ask for the others.
struct Counts<F> {
    known: Vec<Option<u32>>,
    count: F,
    calls: usize,
}

impl<F> Counts<F> {
    /// The count of the first `k` ops, measured if it is not known.
    fn at<E>(&mut self, k: usize) -> Result<u32, E>
    where
        F: FnMut(usize) -> Result<u32, E>,
    {
        if let Some(known) = self.known[k - 1] {
            return Ok(known);
        }
        let measured = (self.count)(k)?;
        self.calls += 1;
        self.known[k - 1] = Some(measured);
        Ok(measured)
    }

    /// Takes the counts of a piece from `shape`, except where they were measured.
    fn conclude(&mut self, begin: usize, base: i64, shape: &[i64]) {
        for (known, step) in self.known[begin..].iter_mut().zip(shape) {
            known.get_or_insert(u32::try_from(base + step).unwrap_or(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    fn transformer(layers: usize) -> Vec<String> {
        let body = "layer_norm linear view transpose linear view transpose sdpa reshape linear add gelu linear add";
        let text = format!("embedding add {} layer_norm linear tanh", format!("{body} ").repeat(layers));
        text.split_whitespace().map(str::to_owned).collect()
    }

    /// Linear layers, attention and normalisations start a kernel; the first pointwise op after one does too.
    fn kernels(ops: &[String], k: usize) -> u32 {
        let starts = |op: &str| ["layer_norm", "linear", "sdpa", "embedding", "gelu"].contains(&op);
        ops[..k].iter().filter(|op| starts(op)).count() as u32
    }

    #[test]
    fn repeated_layers_are_measured_once() {
        let ops = transformer(24);
        let count = |k| Ok::<_, Infallible>(kernels(&ops, k));
        let Ok(all) = measure_all(ops.len(), count);
        let mut bracketing = Bracketing::new();
        let Ok(few) = bracketing.measure(&ops, count);
        assert_eq!(few.kernels, all.kernels);
        assert!(few.calls * 3 < all.calls, "{} of {}", few.calls, all.calls);
        // A second graph of the same layers costs two calls for each piece.
        let longer = transformer(48);
        let Ok(again) = bracketing.measure(&longer, |k| Ok::<_, Infallible>(kernels(&longer, k)));
        assert!(again.calls * 5 < longer.len(), "{} of {}", again.calls, longer.len());
    }

    #[test]
    fn errors_pass_through() {
        assert_eq!(Bracketing::new().measure(&transformer(2), |_| Err::<u32, _>("no compiler")), Err("no compiler"));
    }

    proptest! {
        #[test]
        fn asks_at_most_once_and_keeps_what_was_measured(
            ops in prop::collection::vec("[ab]", 0..80),
            counts in prop::collection::vec(0_u32..4, 80),
        ) {
            let mut asked = vec![false; ops.len()];
            let Ok(measured) = Bracketing::new().measure(&ops, |k| {
                assert!(!std::mem::replace(&mut asked[k - 1], true), "asked twice for {k}");
                Ok::<_, Infallible>(counts[k - 1])
            });
            prop_assert_eq!(measured.kernels.len(), ops.len());
            prop_assert_eq!(measured.calls, asked.iter().filter(|asked| **asked).count());
            for (k, asked) in asked.into_iter().enumerate() {
                prop_assert!(!asked || measured.kernels[k] == counts[k]);
            }
        }
    }
}
