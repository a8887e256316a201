use std::collections::HashMap;

/// Kernel counts of all prefixes of one graph, and what they cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// `kernels[k - 1]` is the count of the first `k` ops.
    pub kernels: Vec<u32>,
    /// Which of the counts were asked for; the others were concluded.
    pub asked: Vec<bool>,
}

impl Measured {
    /// How many counts were asked for.
    pub fn calls(&self) -> usize {
        self.asked.iter().filter(|asked| **asked).count()
    }
}

/// Asks for the count of every prefix: the reference.
///
/// `count(k)` compiles the first `k` ops (1 up to `ops`).
///
/// # Errors
/// The first error of `count`.
pub fn measure_all<E>(ops: usize, count: impl FnMut(usize) -> Result<u32, E>) -> Result<Measured, E> {
    let kernels = (1..=ops).map(count).collect::<Result<Vec<_>, E>>()?;
    Ok(Measured { kernels, asked: vec![true; ops] })
}

/// Measures few prefixes and concludes the rest.
///
/// The end of the graph is measured. Inside an interval whose ends are measured, the count of every prefix is predicted
/// from what each op added before in the same surroundings: two ops before it and one behind it, else one before and one
/// behind, else one before. An interval is taken as
/// predicted if every op in it is predicted and the sum agrees with the measured end; where it does not, the middle is
/// measured and both halves are looked at. Long intervals are halved even where the sum agrees, so that one error cannot
/// hide behind its opposite. An op whose surroundings have added different numbers before is not predicted.
///
/// What is learnt is kept from graph to graph. The result equals [`measure_all`] as far as equal ops in equal surroundings
/// add equally.
#[derive(Debug, Default)]
pub struct Bracketing {
    /// What was added in surroundings; `None` if that varied.
    added: HashMap<Surroundings, Option<i64>>,
}

/// An interval of more ops is checked in its middle even where its sum agrees.
const LONGEST_TRUSTED: usize = 12;

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
    pub fn measure<E>(&self, ops: &[String], count: impl FnMut(usize) -> Result<u32, E>) -> Result<Measured, E> {
        let mut counts = Counts { known: vec![None; ops.len()], count };
        if !ops.is_empty() {
            counts.at(ops.len())?;
            self.refine(ops, 0, ops.len(), &mut counts)?;
        }
        // Every place is known by now: each interval was measured or concluded.
        let known = || counts.known.iter().flatten();
        Ok(Measured {
            kernels: known().map(|known| known.count).collect(),
            asked: known().map(|known| known.asked).collect(),
        })
    }

    /// Knows all counts from `begin` to `end`, both measured.
    fn refine<E, F: FnMut(usize) -> Result<u32, E>>(
        &self,
        ops: &[String],
        begin: usize,
        end: usize,
        counts: &mut Counts<F>,
    ) -> Result<(), E> {
        if end - begin <= 1 {
            return Ok(());
        }
        let base = i64::from(counts.at(begin)?);
        let added = i64::from(counts.at(end)?) - base;
        let steps: Option<Vec<i64>> = (begin + 1..=end).map(|k| self.predict(ops, k)).collect();
        let agrees = steps.as_ref().is_some_and(|steps| steps.iter().sum::<i64>() == added);
        if agrees && end - begin <= LONGEST_TRUSTED {
            counts.conclude(begin, base, steps.unwrap_or_default());
            return Ok(());
        }
        let middle = begin + (end - begin) / 2;
        counts.at(middle)?;
        self.refine(ops, begin, middle, counts)?;
        self.refine(ops, middle, end, counts)
    }

    /// Takes note of what was added between neighbours that were both asked for.
    pub fn learn(&mut self, ops: &[String], measured: &Measured) {
        let asked = |k: usize| match k {
            0 => Some(0),
            _ => measured.asked[k - 1].then(|| i64::from(measured.kernels[k - 1])),
        };
        for k in 1..=measured.kernels.len() {
            let (Some(before), Some(after)) = (asked(k - 1), asked(k)) else { continue };
            let added = Some(after - before);
            for surroundings in surroundings(ops, k) {
                let entry = self.added.entry(surroundings).or_insert(added);
                if *entry != added {
                    *entry = None;
                }
            }
        }
    }

    /// What the op that makes a prefix `k` long adds, by the widest surroundings that were seen.
    fn predict(&self, ops: &[String], k: usize) -> Option<i64> {
        surroundings(ops, k).iter().find_map(|surroundings| self.added.get(surroundings)).copied().flatten()
    }
}

/// Numbers of ops before and behind, and the ops with the one between; empty where there is none.
type Surroundings = (usize, usize, Vec<String>);

/// What is around the op that makes a prefix `k` long, widest first.
fn surroundings(ops: &[String], k: usize) -> [Surroundings; 3] {
    [(2, 1), (1, 1), (1, 0)].map(|(before, behind)| {
        let at =
            |index: usize| index.checked_sub(before + 1).and_then(|index| ops.get(index)).cloned().unwrap_or_default();
        (before, behind, (k..=k + before + behind).map(at).collect())
    })
}

/// Counts known so far, and where to ask for the others.
struct Counts<F> {
    known: Vec<Option<Known>>,
    count: F,
}

#[derive(Clone, Debug)]
struct Known {
    count: u32,
    asked: bool,
}

impl<F> Counts<F> {
    /// The count of the first `k` ops, measured if it is not known; the empty prefix has no kernel.
    fn at<E>(&mut self, k: usize) -> Result<u32, E>
    where
        F: FnMut(usize) -> Result<u32, E>,
    {
        if k == 0 {
            return Ok(0);
        }
        if let Some(known) = &self.known[k - 1] {
            return Ok(known.count);
        }
        let count = (self.count)(k)?;
        self.known[k - 1] = Some(Known { count, asked: true });
        Ok(count)
    }

    /// Takes the counts behind `begin` from what each op adds, except where they were measured.
    fn conclude(&mut self, begin: usize, base: i64, steps: Vec<i64>) {
        let mut count = base;
        for (known, step) in self.known[begin..].iter_mut().zip(steps) {
            count += step;
            known.get_or_insert(Known { count: u32::try_from(count).unwrap_or(0), asked: false });
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
    fn what_was_seen_is_not_measured_again() {
        let mut bracketing = Bracketing::new();
        let mut calls = |layers| {
            let ops = transformer(layers);
            let count = |k| Ok::<_, Infallible>(kernels(&ops, k));
            let Ok(all) = measure_all(ops.len(), count);
            let Ok(few) = bracketing.measure(&ops, count);
            bracketing.learn(&ops, &few);
            assert_eq!(few.kernels, all.kernels);
            (few.calls(), all.calls())
        };
        let (first, all) = calls(2);
        assert_eq!(first, all);
        let (again, all) = calls(12);
        assert!(again * 5 < all, "{again} of {all}");
    }

    #[test]
    fn a_deviation_is_found() {
        let mut bracketing = Bracketing::new();
        let ops = transformer(4);
        let Ok(first) = bracketing.measure(&ops, |k| Ok::<_, Infallible>(kernels(&ops, k)));
        bracketing.learn(&ops, &first);
        let other = |k: usize| kernels(&ops, k) + u32::from(k > 17);
        let Ok(few) = bracketing.measure(&ops, |k| Ok::<_, Infallible>(other(k)));
        assert_eq!(few.kernels, (1..=ops.len()).map(other).collect::<Vec<_>>());
        assert!(few.calls() * 2 < ops.len(), "{} of {}", few.calls(), ops.len());
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
            prop_assert_eq!(&measured.asked, &asked);
            for (k, asked) in asked.into_iter().enumerate() {
                prop_assert!(!asked || measured.kernels[k] == counts[k]);
            }
        }
    }
}
