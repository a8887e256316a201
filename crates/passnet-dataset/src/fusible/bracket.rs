use std::collections::{BTreeMap, HashMap};

/// What a compiler makes of one prefix: for each kernel the index of the first op that it computes; `None` if it does not
/// tell.
pub type Schedule = Vec<Option<u32>>;

/// Kernel counts of all prefixes of one graph, and what they cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// `kernels[k - 1]` is the count of the first `k` ops.
    pub kernels: Vec<u32>,
    /// The prefixes that were compiled, by their number of ops; the other counts were concluded.
    pub schedules: BTreeMap<usize, Schedule>,
}

impl Measured {
    /// How many prefixes were compiled.
    pub fn calls(&self) -> usize {
        self.schedules.len()
    }
}

/// Compiles every prefix: the reference.
///
/// `compile(k)` compiles the first `k` ops (1 up to `ops`).
///
/// # Errors
/// The first error of `compile`.
pub fn measure_all<E>(ops: usize, compile: impl FnMut(usize) -> Result<Schedule, E>) -> Result<Measured, E> {
    let mut prefixes = Prefixes { compiled: BTreeMap::new(), concluded: BTreeMap::new(), compile };
    (1..=ops).try_for_each(|k| prefixes.count(k).map(drop))?;
    Ok(prefixes.measured(ops))
}

/// Measures few prefixes and concludes the rest.
///
/// The whole graph is compiled first. Inside an interval whose ends are measured, the count of every prefix is predicted
/// in two ways: from what each op added before in the same surroundings (two ops before it and one behind it, else one
/// before and one behind, else one before), and from the schedule of the interval's end, in which a kernel counts from the
/// first op that it computes. An interval is taken as predicted if both ways, as far as they say anything, agree about
/// every op in it, and the sum with the measured end; where they do not, the middle is measured and both halves are
/// looked at. Long intervals are halved even where all agrees, so that one error cannot hide behind its opposite.
///
/// What is learnt is kept from graph to graph.
#[derive(Debug, Default)]
pub struct Bracketing {
    /// What was added in surroundings; `None` if that varied.
    added: HashMap<Surroundings, Option<i64>>,
}

/// An interval of more ops is checked in its middle even where all predictions agree.
const LONGEST_TRUSTED: usize = 12;
/// The same where only the schedule says something about one of its ops.
const LONGEST_SCHEDULED: usize = 2;

impl Bracketing {
    /// Knows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The counts of one graph, given its op names in program order.
    ///
    /// `compile(k)` compiles the first `k` ops (1 up to the number of ops); it is called at most once for each `k`.
    ///
    /// # Errors
    /// The first error of `compile`.
    pub fn measure<E>(&self, ops: &[String], compile: impl FnMut(usize) -> Result<Schedule, E>) -> Result<Measured, E> {
        let mut prefixes = Prefixes { compiled: BTreeMap::new(), concluded: BTreeMap::new(), compile };
        if !ops.is_empty() {
            prefixes.count(ops.len())?;
            self.refine(ops, 0, ops.len(), &mut prefixes)?;
        }
        Ok(prefixes.measured(ops.len()))
    }

    /// Knows all counts from `begin` to `end`, both measured.
    fn refine<E, F: FnMut(usize) -> Result<Schedule, E>>(
        &self,
        ops: &[String],
        begin: usize,
        end: usize,
        prefixes: &mut Prefixes<F>,
    ) -> Result<(), E> {
        if end - begin <= 1 {
            return Ok(());
        }
        let base = prefixes.count(begin)?;
        let added = prefixes.count(end)? - base;
        let schedule = &prefixes.compiled[&end];
        let steps: Option<Vec<Step>> = (begin + 1..=end).map(|k| self.predict(ops, k, schedule)).collect();
        if let Some(steps) = steps
            && steps.iter().map(|step| step.added).sum::<i64>() == added
            && end - begin <= if steps.iter().all(|step| step.seen) { LONGEST_TRUSTED } else { LONGEST_SCHEDULED }
        {
            prefixes.conclude(begin, base, &steps);
            return Ok(());
        }
        let middle = begin + (end - begin) / 2;
        prefixes.count(middle)?;
        self.refine(ops, begin, middle, prefixes)?;
        self.refine(ops, middle, end, prefixes)
    }

    /// Takes note of what was added between neighbours that were both compiled.
    pub fn learn(&mut self, ops: &[String], measured: &Measured) {
        let count = |k: usize| match k {
            0 => Some(0),
            _ => measured.schedules.contains_key(&k).then(|| i64::from(measured.kernels[k - 1])),
        };
        for k in 1..=measured.kernels.len() {
            let (Some(before), Some(after)) = (count(k - 1), count(k)) else { continue };
            let added = Some(after - before);
            for surroundings in surroundings(ops, k) {
                let entry = self.added.entry(surroundings).or_insert(added);
                if *entry != added {
                    *entry = None;
                }
            }
        }
    }

    /// What the op that makes a prefix `k` long adds; `None` if nothing says so, or two things say otherwise.
    fn predict(&self, ops: &[String], k: usize, schedule: &Schedule) -> Option<Step> {
        let seen = surroundings(ops, k).iter().find_map(|surroundings| self.added.get(surroundings)).copied();
        let known = schedule.iter().all(Option::is_some);
        let begun =
            || schedule.iter().filter(|first| first.is_some_and(|first| first as usize == k - 1)).count() as i64;
        match (seen, known.then(begun)) {
            (Some(Some(seen)), begun) if begun.is_none_or(|begun| begun == seen) => {
                Some(Step { added: seen, seen: true })
            }
            (None, Some(added)) => Some(Step { added, seen: false }),
            _ => None,
        }
    }
}

/// What one op is predicted to add, and whether that was seen before.
struct Step {
    added: i64,
    seen: bool,
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
struct Prefixes<F> {
    compiled: BTreeMap<usize, Schedule>,
    concluded: BTreeMap<usize, i64>,
    compile: F,
}

impl<F> Prefixes<F> {
    /// The count of the first `k` ops, which are compiled if they were not before; the empty prefix has no kernel.
    fn count<E>(&mut self, k: usize) -> Result<i64, E>
    where
        F: FnMut(usize) -> Result<Schedule, E>,
    {
        if k == 0 {
            return Ok(0);
        }
        if let Some(schedule) = self.compiled.get(&k) {
            return Ok(schedule.len() as i64);
        }
        let schedule = (self.compile)(k)?;
        let count = schedule.len() as i64;
        self.compiled.insert(k, schedule);
        Ok(count)
    }

    /// Takes the counts behind `begin` from what each op adds.
    fn conclude(&mut self, begin: usize, base: i64, steps: &[Step]) {
        let mut count = base;
        for (k, step) in (begin + 1..).zip(steps) {
            count += step.added;
            self.concluded.insert(k, count);
        }
    }

    /// Every count of `ops` ops was measured or concluded; what was measured wins.
    fn measured(self, ops: usize) -> Measured {
        let count = |k| match self.compiled.get(&k) {
            Some(schedule) => schedule.len() as i64,
            None => self.concluded.get(&k).copied().unwrap_or(0),
        };
        let kernels = (1..=ops).map(|k| u32::try_from(count(k)).unwrap_or(0)).collect();
        Measured { kernels, schedules: self.compiled }
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

    /// A schedule that tells nothing but the number of kernels.
    fn silent<N: Into<u64>>(count: N) -> Result<Schedule, Infallible> {
        Ok(vec![None; count.into() as usize])
    }

    #[test]
    fn what_was_seen_is_not_measured_again() {
        let mut bracketing = Bracketing::new();
        let mut calls = |layers| {
            let ops = transformer(layers);
            let count = |k| silent(kernels(&ops, k));
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
        let Ok(first) = bracketing.measure(&ops, |k| silent(kernels(&ops, k)));
        bracketing.learn(&ops, &first);
        let other = |k: usize| kernels(&ops, k) + u32::from(k > 17);
        let Ok(few) = bracketing.measure(&ops, |k| silent(other(k)));
        assert_eq!(few.kernels, (1..=ops.len()).map(other).collect::<Vec<_>>());
        assert!(few.calls() * 2 < ops.len(), "{} of {}", few.calls(), ops.len());
    }

    #[test]
    fn a_schedule_that_tells_saves_compilations() {
        let ops = transformer(1);
        let first = |k: usize| (0..k as u32).filter(|&op| kernels(&ops, op as usize + 1) > kernels(&ops, op as usize));
        let Ok(few) = Bracketing::new().measure(&ops, |k| Ok::<Schedule, Infallible>(first(k).map(Some).collect()));
        assert_eq!(few.kernels, (1..=ops.len()).map(|k| kernels(&ops, k)).collect::<Vec<_>>());
        assert!(few.calls() * 3 < ops.len() * 2, "{} of {}", few.calls(), ops.len());
        // Kernels that the whole graph has elsewhere than its first half are found.
        let whole = ops.len();
        let shifted = |k: usize| first(k).map(move |op| Some(if k == whole { op.saturating_sub(1) } else { op }));
        let Ok(found) = Bracketing::new().measure(&ops, |k| Ok::<Schedule, Infallible>(shifted(k).collect()));
        assert_eq!(found.kernels, few.kernels);
    }

    #[test]
    fn errors_pass_through() {
        assert_eq!(
            Bracketing::new().measure(&transformer(2), |_| Err::<Schedule, _>("no compiler")),
            Err("no compiler")
        );
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
                silent(counts[k - 1])
            });
            prop_assert_eq!(measured.kernels.len(), ops.len());
            let compiled: Vec<bool> = (1..=ops.len()).map(|k| measured.schedules.contains_key(&k)).collect();
            prop_assert_eq!(&compiled, &asked);
            for (k, asked) in asked.into_iter().enumerate() {
                prop_assert!(!asked || measured.kernels[k] == counts[k]);
            }
        }
    }
}
