//! Index expressions: sums of loop variables with integer factors, and floor divisions and remainders by constants, which come
//! from reshaping.
//!
//! Every variable runs from 0 to its extent, so the range of an expression is known. A division or remainder whose
//! result follows from the range is never built.

use passnet_graph::contiguous_stride;

/// A loop variable; its extent is in [`Vars`].
pub(crate) type Var = u32;

/// Extents of all loop variables in use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vars {
    extents: Vec<i64>,
}

impl Vars {
    /// Returns a new variable as an index, or the constant 0 if the variable could only be 0.
    pub(crate) fn fresh(&mut self, extent: i64) -> Index {
        if extent == 1 {
            return Index::constant(0);
        }
        self.always_fresh(extent)
    }

    /// Returns a new variable, even if it can only be 0.
    pub(crate) fn always_fresh(&mut self, extent: i64) -> Index {
        self.extents.push(extent);
        Index::var(self.extents.len() as Var - 1)
    }

    pub(crate) fn extent(&self, var: Var) -> i64 {
        self.extents[var as usize]
    }
}

/// One summand of an index, without its factor.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Term {
    Var(Var),
    /// Floor division.
    Div(Box<Index>, i64),
    /// Remainder, never negative.
    Mod(Box<Index>, i64),
    /// An integer read from a tensor, by the number of its expression. It selects one of `extent` places. `wrap` is added if the
    /// integer is negative.
    Value {
        expr: u32,
        wrap: i64,
        extent: i64,
    },
}

/// A sum of terms with factors, and a constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Index {
    /// Sorted by term; no factor is 0.
    terms: Vec<(Term, i64)>,
    constant: i64,
}

impl Index {
    pub(crate) const fn constant(constant: i64) -> Self {
        Self { terms: Vec::new(), constant }
    }

    pub(crate) fn var(var: Var) -> Self {
        Self::term(Term::Var(var))
    }

    pub(crate) fn term(term: Term) -> Self {
        Self { terms: vec![(term, 1)], constant: 0 }
    }

    pub(crate) fn terms(&self) -> &[(Term, i64)] {
        &self.terms
    }

    pub(crate) const fn constant_part(&self) -> i64 {
        self.constant
    }

    pub(crate) fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// Returns the variable if the index is a single variable.
    pub(crate) fn as_var(&self) -> Option<Var> {
        match self.terms.as_slice() {
            [(Term::Var(var), 1)] if self.constant == 0 => Some(*var),
            _ => None,
        }
    }

    pub(crate) fn plus(mut self, other: &Self) -> Self {
        self.constant += other.constant;
        for (term, factor) in &other.terms {
            match self.terms.binary_search_by(|(have, _)| have.cmp(term)) {
                Ok(place) => {
                    self.terms[place].1 += factor;
                    if self.terms[place].1 == 0 {
                        self.terms.remove(place);
                    }
                }
                Err(place) => self.terms.insert(place, (term.clone(), *factor)),
            }
        }
        self.rejoined()
    }

    /// Joins quotient and remainder of one division: `x / n * n + x % n` is `x`.
    fn rejoined(mut self) -> Self {
        let factor_of = |wanted: &Term| {
            let place = self.terms.binary_search_by(|(have, _)| have.cmp(wanted)).ok()?;
            Some(self.terms[place].1)
        };
        let found = self.terms.iter().find_map(|(term, factor)| {
            let Term::Mod(inner, by) = term else { return None };
            let quotient = match inner.terms.as_slice() {
                [(Term::Div(whole, first), 1)] if inner.constant == 0 => Term::Div(whole.clone(), first * by),
                _ => Term::Div(inner.clone(), *by),
            };
            (factor_of(&quotient) == Some(factor * by))
                .then(|| (term.clone(), quotient, (**inner).clone().times(*factor)))
        });
        let Some((remainder, quotient, joined)) = found else { return self };
        self.terms.retain(|(term, _)| *term != remainder && *term != quotient);
        self.plus(&joined)
    }

    pub(crate) fn plus_constant(mut self, constant: i64) -> Self {
        self.constant += constant;
        self
    }

    pub(crate) fn times(mut self, factor: i64) -> Self {
        if factor == 0 {
            return Self::constant(0);
        }
        self.constant *= factor;
        for (_, have) in &mut self.terms {
            *have *= factor;
        }
        self
    }

    /// Returns the smallest and the largest value; `None` if the index contains a value from a tensor.
    pub(crate) fn range(&self, vars: &Vars) -> Option<(i64, i64)> {
        self.range_with(vars, |_| None)
    }

    /// Returns the range, with the range of a value from a tensor by its extent.
    fn range_with(&self, vars: &Vars, values: fn(i64) -> Option<(i64, i64)>) -> Option<(i64, i64)> {
        let mut range = (self.constant, self.constant);
        for (term, factor) in &self.terms {
            let (low, high) = match term {
                Term::Var(var) => (0, vars.extent(*var) - 1),
                Term::Div(inner, by) => {
                    let (low, high) = inner.range_with(vars, values)?;
                    (low.div_euclid(*by), high.div_euclid(*by))
                }
                Term::Mod(inner, by) => {
                    inner.range_with(vars, values)?;
                    (0, by - 1)
                }
                Term::Value { extent, .. } => values(*extent)?,
            };
            let (a, b) = (low * factor, high * factor);
            range = (range.0 + a.min(b), range.1 + a.max(b));
        }
        Some(range)
    }

    fn is_within(&self, low: i64, high: i64, vars: &Vars) -> bool {
        self.range(vars).is_some_and(|(least, most)| least >= low && most < high)
    }

    /// Returns the part whose factors are multiples of `by`, divided by `by`, and the rest.
    fn split(&self, by: i64) -> (Self, Self) {
        let part = |of: fn(i64, i64) -> i64, keep: fn(i64, i64) -> bool| Self {
            terms: self
                .terms
                .iter()
                .filter(|&&(_, factor)| keep(factor, by))
                .map(|(term, factor)| (term.clone(), of(*factor, by)))
                .collect(),
            constant: 0,
        };
        let whole = part(|factor, by| factor / by, |factor, by| factor % by == 0);
        let rest = part(|factor, _| factor, |factor, by| factor % by != 0);
        (whole.plus_constant(self.constant.div_euclid(by)), rest.plus_constant(self.constant.rem_euclid(by)))
    }

    /// Returns the index as `multiple * part + below` with `0 <= below < multiple`, where `multiple` is the largest
    /// proper divisor of `by` for which this is possible. The quotient by `by` then depends only on `part`.
    fn coarser(&self, by: i64, vars: &Vars) -> Option<(i64, Self, Self)> {
        let factors = || self.terms.iter().map(|&(_, factor)| factor);
        let of_all = factors().fold(by, gcd);
        let mut divisors: Vec<i64> = factors().map(|factor| gcd(factor, by)).chain([of_all]).collect();
        divisors.sort_unstable();
        // The largest divisor first: it leaves the smallest quotient, and with it the fewest divisions in the kernel.
        divisors.into_iter().rev().filter(|&multiple| multiple > 1).find_map(|multiple| {
            let (part, below) = self.split(multiple);
            below.is_within(0, multiple, vars).then_some((multiple, part, below))
        })
    }

    /// Returns the floor division by a positive constant.
    pub(crate) fn div(&self, by: i64, vars: &Vars) -> Self {
        if by == 1 {
            return self.clone();
        }
        // Multiples of the divisor leave a floor division exactly, also negative ones, because it rounds down.
        let (whole, rest) = self.split(by);
        if rest.is_within(0, by, vars) {
            return whole;
        }
        if let Some((multiple, part, _)) = rest.coarser(by, vars) {
            return whole.plus(&part.div(by / multiple, vars));
        }
        let turns = rest.turns_below_zero(by, vars);
        whole.plus_constant(-turns).plus(&Self::term(Term::Div(Box::new(rest.plus_constant(turns * by)), by)))
    }

    /// Returns the remainder by a positive constant, never negative.
    pub(crate) fn rem(&self, by: i64, vars: &Vars) -> Self {
        let (_, rest) = self.split(by);
        if rest.is_within(0, by, vars) {
            return rest;
        }
        if let Some((multiple, part, below)) = rest.coarser(by, vars) {
            return part.rem(by / multiple, vars).times(multiple).plus(&below);
        }
        let turns = rest.turns_below_zero(by, vars);
        Self::term(Term::Mod(Box::new(rest.plus_constant(turns * by)), by))
    }

    /// Returns how often `by` has to be added so that the index is never negative: the divisions of C++ and Triton round towards
    /// zero. A value from a tensor counts as a valid place: any other has no result.
    fn turns_below_zero(&self, by: i64, vars: &Vars) -> i64 {
        self.range_with(vars, |extent| Some((0, extent - 1))).map_or(0, |(least, _)| -least.min(0).div_euclid(by))
    }

    /// Returns the index with `dims[i]` in place of variable `i`.
    pub(crate) fn substitute(&self, dims: &[Self], vars: &Vars) -> Self {
        let mut result = Self::constant(self.constant);
        for (term, factor) in &self.terms {
            let value = match term {
                Term::Var(var) => dims[*var as usize].clone(),
                Term::Div(inner, by) => inner.substitute(dims, vars).div(*by, vars),
                Term::Mod(inner, by) => inner.substitute(dims, vars).rem(*by, vars),
                Term::Value { .. } => Self::term(term.clone()),
            };
            result = result.plus(&value.times(*factor));
        }
        result
    }

    /// Returns whether the index depends on a variable, as part of a division or not. Values that it reads are not looked into.
    pub(crate) fn uses(&self, var: Var) -> bool {
        let mut found = false;
        self.for_each_term(&mut |term| found |= matches!(term, Term::Var(of) if *of == var));
        found
    }

    /// Calls `visit` with every term, those inside divisions and remainders included.
    pub(crate) fn for_each_term(&self, visit: &mut impl FnMut(&Term)) {
        for (term, _) in &self.terms {
            visit(term);
            if let Term::Div(inner, _) | Term::Mod(inner, _) = term {
                inner.for_each_term(visit);
            }
        }
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Returns the position in row-major order of the element at `index`.
pub(crate) fn linearize(index: &[Index], shape: &[i64]) -> Index {
    offset(index, &contiguous_stride(shape))
}

/// Returns the sum of indices times strides.
pub(crate) fn offset(index: &[Index], stride: &[i64]) -> Index {
    index.iter().zip(stride).fold(Index::constant(0), |sum, (index, &stride)| sum.plus(&index.clone().times(stride)))
}

/// Returns the indices of the element at a position in row-major order.
pub(crate) fn delinearize(position: &Index, shape: &[i64], vars: &Vars) -> Vec<Index> {
    let stride = contiguous_stride(shape);
    let along = |(dim, (&extent, &stride)): (usize, (&i64, &i64))| {
        let index = position.div(stride, vars);
        // The leading index is below its extent already.
        if shape[..dim].iter().all(|&before| before == 1) { index } else { index.rem(extent, vars) }
    };
    shape.iter().zip(&stride).enumerate().map(along).collect()
}

/// Returns by how much an index grows with a variable; `None` if the variable is divided.
pub(crate) fn coefficient(index: &Index, var: Var) -> Option<i64> {
    let mut coefficient = 0;
    for (term, factor) in index.terms() {
        match term {
            Term::Var(of) if *of == var => coefficient = *factor,
            Term::Div(inner, _) | Term::Mod(inner, _) => (self::coefficient(inner, var)? == 0).then_some(())?,
            Term::Var(_) | Term::Value { .. } => {}
        }
    }
    Some(coefficient)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(index: &Index, at: &[i64]) -> i64 {
        index.terms.iter().fold(index.constant, |sum, (term, factor)| {
            let value = match term {
                Term::Var(var) => at[*var as usize],
                Term::Div(inner, by) => value(inner, at).div_euclid(*by),
                Term::Mod(inner, by) => value(inner, at).rem_euclid(*by),
                Term::Value { expr, .. } => at[*expr as usize],
            };
            sum + value * factor
        })
    }

    #[test]
    fn merging_and_splitting_dimensions_leaves_no_division() {
        let mut vars = Vars::default();
        let index: Vec<Index> = [4, 6, 8].into_iter().map(|extent| vars.fresh(extent)).collect();
        let position = linearize(&index, &[4, 6, 8]);
        assert_eq!(delinearize(&position, &[4, 6, 8], &vars), index);
        let merged = delinearize(&position, &[24, 8], &vars);
        assert_eq!(merged, [linearize(&index[..2], &[4, 6]), index[2].clone()]);
        assert_eq!(delinearize(&linearize(&merged, &[24, 8]), &[4, 6, 8], &vars), index);
        let flat = vars.fresh(4 * 6 * 8);
        assert_eq!(linearize(&delinearize(&flat, &[4, 6, 8], &vars), &[4, 6, 8]), flat);
    }

    /// Windows of 7 by 7 in an image of 14 by 14 places with 32 elements each, rolled by 3: no division contains the position
    /// within a place.
    #[test]
    fn only_what_decides_a_quotient_is_divided() {
        let mut vars = Vars::default();
        let (row, column, place) = (vars.fresh(14), vars.fresh(14), vars.fresh(32));
        let rolled = |index: &Index| index.clone().plus_constant(11).rem(14, &vars);
        let position = linearize(&[rolled(&row), rolled(&column), place.clone()], &[14, 14, 32]);
        for index in delinearize(&position, &[2, 7, 2, 7, 32], &vars) {
            let mut uses_place = false;
            index.for_each_term(&mut |term| uses_place |= place.as_var().is_some_and(|var| *term == Term::Var(var)));
            assert_eq!(uses_place, index == place, "{index:?}");
        }
    }

    proptest! {
        #[test]
        fn simplification_keeps_the_value(
            factors in prop::collection::vec(-40_i64..40, 4),
            constant in -50_i64..50,
            by in 1_i64..30,
            then in 1_i64..12,
            at in (0_i64..4, 0_i64..6, 0_i64..8, 0_i64..5),
        ) {
            let mut vars = Vars::default();
            let mut dims: Vec<Index> = [4, 6, 8].into_iter().map(|extent| vars.fresh(extent)).collect();
            dims.push(Index::term(Term::Value { expr: 3, wrap: 0, extent: 5 }));
            let index = offset(&dims, &factors).plus_constant(constant);
            let at = [at.0, at.1, at.2, at.3];
            let plain = value(&index, &at);
            prop_assert_eq!(value(&index.div(by, &vars), &at), plain.div_euclid(by));
            prop_assert_eq!(value(&index.rem(by, &vars), &at), plain.rem_euclid(by));
            let nested = index.div(by, &vars).rem(then, &vars);
            prop_assert_eq!(value(&nested, &at), plain.div_euclid(by).rem_euclid(then));
            let range = |index: &Index| index.range_with(&vars, |extent| Some((0, extent - 1))).unwrap();
            let (low, high) = range(&nested);
            prop_assert!((low..=high).contains(&value(&nested, &at)));
            for result in [index.div(by, &vars), index.rem(by, &vars), nested] {
                let mut divides_below_zero = false;
                result.for_each_term(&mut |term| {
                    if let Term::Div(inner, _) | Term::Mod(inner, _) = term {
                        divides_below_zero |= range(inner).0 < 0;
                    }
                });
                prop_assert!(!divides_below_zero, "{:?}", result);
            }
        }
    }
}
