use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Kernel counts of some compiled prefixes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compiled {
    /// Number of kernels of each prefix, in the order of the question.
    pub kernels: Vec<u32>,
    /// Number of calls of the compiler. It is one if all prefixes were compiled together.
    pub compilations: u32,
}

/// Kernel counts of all prefixes of one graph, and the cost of finding them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrefixCounts {
    /// `kernels[k - 1]` is the count of the first `k` ops.
    pub kernels: Vec<u32>,
    /// Numbers of ops of the prefixes that were compiled. The other counts were concluded.
    pub compiled: BTreeSet<usize>,
    /// Number of calls of the compiler.
    pub compilations: u32,
}

/// Compiles every prefix separately. [`Bracketing`] is compared with this function.
///
/// `compile` compiles prefixes, given by their numbers of ops (1 up to `ops`).
///
/// # Errors
/// The first error of `compile`.
pub fn measure_all<E>(ops: usize, compile: impl FnMut(&[usize]) -> Result<Compiled, E>) -> Result<PrefixCounts, E> {
    let mut prefixes = Prefixes::new(compile);
    (1..=ops).try_for_each(|k| prefixes.compile(&[k]))?;
    Ok(prefixes.measured(ops))
}

/// Measures prefixes together, and only those whose counts cannot be concluded.
///
/// The number of kernels that an op adds is predicted from earlier graphs with the same surroundings: two ops before it and one
/// after it, or else one before and one after. The first round compiles the whole graph, the prefixes on both sides of each op
/// without a clear prediction, and one in [`LONGEST_TRUSTED`] of the others, so that two opposite errors cannot cancel without
/// being noticed. Between two compiled prefixes, the predictions are used if their sum equals the measured difference. Otherwise
/// a second round compiles all prefixes between them. Each round makes as few calls of the compiler as [`MOST_OPS`] permits.
///
/// Predictions are kept from graph to graph.
#[derive(Debug, Default)]
pub struct Bracketing {
    /// Number of kernels that an op added in given surroundings; `None` if the number varied.
    added: HashMap<Surroundings, Option<i64>>,
}

/// Largest number of ops from one compiled prefix to the next.
const LONGEST_TRUSTED: usize = 12;
/// Largest number of ops of all prefixes that are compiled together. A single prefix may have more.
const MOST_OPS: usize = 256;

impl Bracketing {
    /// Returns an instance without predictions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the counts of one graph, given its op names in program order.
    ///
    /// `compile` compiles prefixes, given by their numbers of ops (1 up to the number of ops, ascending). It gets each prefix at
    /// most once.
    ///
    /// # Errors
    /// The first error of `compile`.
    pub fn measure<E>(
        &self,
        ops: &[String],
        compile: impl FnMut(&[usize]) -> Result<Compiled, E>,
    ) -> Result<PrefixCounts, E> {
        let mut prefixes = Prefixes::new(compile);
        let added: Vec<Option<i64>> = (1..=ops.len()).map(|k| self.predict(ops, k)).collect();
        prefixes.compile(&first_round(&added))?;
        let mut second = Vec::new();
        for (begin, end) in prefixes.gaps() {
            let inside: Option<Vec<i64>> = added[begin..end].iter().copied().collect();
            match inside {
                Some(added) if added.iter().sum::<i64>() == prefixes.count(end) - prefixes.count(begin) => {
                    prefixes.conclude(begin, &added);
                }
                _ => second.extend(begin + 1..end),
            }
        }
        prefixes.compile(&second)?;
        Ok(prefixes.measured(ops.len()))
    }

    /// Records the number of kernels that were added between two compiled neighbours.
    pub fn learn(&mut self, ops: &[String], measured: &PrefixCounts) {
        let count = |k: usize| match k {
            0 => Some(0),
            _ => measured.compiled.contains(&k).then(|| i64::from(measured.kernels[k - 1])),
        };
        for k in 1..=measured.kernels.len() {
            let (Some(before), Some(after)) = (count(k - 1), count(k)) else { continue };
            let added = Some(after - before);
            for surroundings in surroundings(ops, k) {
                let entry = self.added.entry(surroundings).or_insert(added);
                // Surroundings that have once added two different numbers make no prediction any more: a property that the key
                // does not contain decides the number.
                if *entry != added {
                    *entry = None;
                }
            }
        }
    }

    /// Predicts the number of kernels that the op at the end of a prefix of length `k` adds. Returns `None` if its surroundings
    /// were not seen, or added different numbers.
    fn predict(&self, ops: &[String], k: usize) -> Option<i64> {
        surroundings(ops, k).iter().find_map(|surroundings| self.added.get(surroundings)).copied().flatten()
    }
}

/// Returns the prefixes to compile first, given the prediction for each op.
fn first_round(added: &[Option<i64>]) -> Vec<usize> {
    let mut asked = Vec::new();
    for k in 1..=added.len() {
        // The number for an op is learned from the counts on both of its sides.
        let unknown = added[k - 1].is_none() || added.get(k) == Some(&None);
        if unknown || k == added.len() || k - asked.last().copied().unwrap_or(0) == LONGEST_TRUSTED {
            asked.push(k);
        }
    }
    asked
}

/// Surroundings of an op: the number of ops before it and after it, and all their names in order. Names beyond the ends are
/// empty.
type Surroundings = (usize, usize, Vec<String>);

/// Returns the surroundings of the op at the end of a prefix of length `k`, the widest first.
fn surroundings(ops: &[String], k: usize) -> [Surroundings; 2] {
    [(2, 1), (1, 1)].map(|(before, behind)| {
        let at =
            |index: usize| index.checked_sub(before + 1).and_then(|index| ops.get(index)).cloned().unwrap_or_default();
        (before, behind, (k..=k + before + behind).map(at).collect())
    })
}

/// Counts that are known so far, and the function that measures others.
struct Prefixes<F> {
    compiled: BTreeMap<usize, u32>,
    concluded: BTreeMap<usize, i64>,
    compilations: u32,
    ask: F,
}

impl<F> Prefixes<F> {
    fn new(ask: F) -> Self {
        Self { compiled: BTreeMap::new(), concluded: BTreeMap::new(), compilations: 0, ask }
    }

    /// Compiles the prefixes that were not compiled before, as many together as permitted.
    fn compile<E>(&mut self, mut prefixes: &[usize]) -> Result<(), E>
    where
        F: FnMut(&[usize]) -> Result<Compiled, E>,
    {
        while let Some(&first) = prefixes.first() {
            let mut ops = first;
            let more = prefixes[1..].iter().take_while(|&&k| {
                ops += k;
                ops <= MOST_OPS
            });
            let (together, rest) = prefixes.split_at(1 + more.count());
            let Compiled { kernels, compilations } = (self.ask)(together)?;
            self.compiled.extend(together.iter().copied().zip(kernels));
            self.compilations += compilations;
            prefixes = rest;
        }
        Ok(())
    }

    /// Returns the count of the first `k` ops, which must have been compiled. The empty prefix has no kernels.
    fn count(&self, k: usize) -> i64 {
        self.compiled.get(&k).copied().map_or(0, i64::from)
    }

    /// Returns neighbours among the compiled prefixes and the empty one that have other prefixes between them.
    fn gaps(&self) -> Vec<(usize, usize)> {
        let begins = std::iter::once(0).chain(self.compiled.keys().copied());
        begins.zip(self.compiled.keys().copied()).filter(|(begin, end)| end - begin > 1).collect()
    }

    /// Computes the counts after `begin` from the kernels that each op adds.
    fn conclude(&mut self, begin: usize, added: &[i64]) {
        let mut count = self.count(begin);
        for (k, added) in (begin + 1..).zip(added) {
            count += added;
            self.concluded.insert(k, count);
        }
    }

    /// Returns the counts of all prefixes of `ops` ops. Measured counts take precedence over concluded ones.
    fn measured(self, ops: usize) -> PrefixCounts {
        let concluded = |k| self.concluded.get(&k).and_then(|&count| u32::try_from(count).ok());
        let count = |k| self.compiled.get(&k).copied().or_else(|| concluded(k)).unwrap_or(0);
        PrefixCounts {
            kernels: (1..=ops).map(count).collect(),
            compiled: self.compiled.keys().copied().collect(),
            compilations: self.compilations,
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

    /// Returns the number of kernels of a prefix. Linear layers, attention and normalisations start a kernel, and so does the
    /// first pointwise op after each of them.
    fn kernels(ops: &[String], k: usize) -> u32 {
        let starts = |op: &str| ["layer_norm", "linear", "sdpa", "embedding", "gelu"].contains(&op);
        ops[..k].iter().filter(|op| starts(op)).count() as u32
    }

    /// Compiles all requested prefixes in one call.
    fn together(prefixes: &[usize], count: impl Fn(usize) -> u32) -> Result<Compiled, Infallible> {
        Ok(Compiled { kernels: prefixes.iter().map(|&k| count(k)).collect(), compilations: 1 })
    }

    #[test]
    fn what_is_new_takes_one_compilation_and_what_was_seen_few_prefixes() {
        let mut bracketing = Bracketing::new();
        let mut measure = |layers| {
            let ops = transformer(layers);
            let count = |prefixes: &[usize]| together(prefixes, |k| kernels(&ops, k));
            let Ok(all) = measure_all(ops.len(), count);
            let Ok(few) = bracketing.measure(&ops, count);
            bracketing.learn(&ops, &few);
            assert_eq!(few.kernels, all.kernels);
            assert_eq!(all.compilations as usize, ops.len());
            (few, ops.len())
        };
        let (first, ops) = measure(1);
        assert_eq!((first.compiled.len(), first.compilations), (ops, 1));
        measure(2);
        let (again, ops) = measure(12);
        assert!(again.compiled.len() * 5 < ops && again.compilations < 10, "{again:?} of {ops}");
    }

    #[test]
    fn a_deviation_is_found() {
        let mut bracketing = Bracketing::new();
        let ops = transformer(4);
        let Ok(first) = bracketing.measure(&ops, |prefixes| together(prefixes, |k| kernels(&ops, k)));
        bracketing.learn(&ops, &first);
        let other = |k: usize| kernels(&ops, k) + u32::from(k > 17);
        let Ok(few) = bracketing.measure(&ops, |prefixes| together(prefixes, other));
        assert_eq!(few.kernels, (1..=ops.len()).map(other).collect::<Vec<_>>());
        assert!(few.compiled.len() * 2 < ops.len(), "{} of {}", few.compiled.len(), ops.len());
    }

    #[test]
    fn errors_pass_through() {
        assert_eq!(
            Bracketing::new().measure(&transformer(2), |_| Err::<Compiled, _>("no compiler")),
            Err("no compiler")
        );
    }

    proptest! {
        #[test]
        fn asks_at_most_once_and_keeps_what_was_measured(
            ops in prop::collection::vec("[ab]", 0..80),
            counts in prop::collection::vec(0_u32..4, 80),
        ) {
            let mut bracketing = Bracketing::new();
            for _ in 0..2 {
                let mut asked = vec![false; ops.len()];
                let Ok(measured) = bracketing.measure(&ops, |prefixes| {
                    for k in prefixes {
                        assert!(!std::mem::replace(&mut asked[k - 1], true), "asked twice for {k}");
                    }
                    assert!(prefixes.len() == 1 || prefixes.iter().sum::<usize>() <= MOST_OPS);
                    together(prefixes, |k| counts[k - 1])
                });
                bracketing.learn(&ops, &measured);
                prop_assert_eq!(measured.kernels.len(), ops.len());
                let compiled: Vec<bool> = (1..=ops.len()).map(|k| measured.compiled.contains(&k)).collect();
                prop_assert_eq!(&compiled, &asked);
                for (k, asked) in asked.into_iter().enumerate() {
                    prop_assert!(!asked || measured.kernels[k] == counts[k]);
                }
            }
        }
    }
}
