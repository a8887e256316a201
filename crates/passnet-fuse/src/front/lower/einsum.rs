//! `einsum` of two tensors as a product of matrices.

use std::collections::BTreeSet;

use passnet_graph::Arg;

use super::{Lowering, call::Call};
use crate::front::tensor::TensorId;

/// The dimensions of `abc,adc->abd`, by letter: those of one factor and the result are rows or columns, those of both factors
/// alone are summed over, and those of all three are a batch.
struct Equation {
    factors: [Vec<char>; 2],
    result: Vec<char>,
}

impl Equation {
    /// Parses an equation. Returns `None` if it has an ellipsis or does not have two tensors, or if a letter occurs twice in a
    /// tensor.
    fn parse(text: &str) -> Option<Self> {
        let text: String = text.split_whitespace().collect();
        let (factors, result) = text.split_once("->")?;
        let (left, right) = factors.split_once(',')?;
        let letters = |text: &str| -> Option<Vec<char>> {
            let is_plain = text.chars().all(|letter| letter.is_ascii_alphabetic());
            let distinct: BTreeSet<char> = text.chars().collect();
            (is_plain && distinct.len() == text.len()).then(|| text.chars().collect())
        };
        Some(Self { factors: [letters(left)?, letters(right)?], result: letters(result)? })
    }

    /// Returns those letters of a factor, in its order, that match two conditions: whether they are in the other factor, and
    /// whether they are in the result.
    fn letters(&self, factor: usize, in_other: bool, in_result: bool) -> Vec<char> {
        let is_wanted = |letter: &char| {
            self.factors[1 - factor].contains(letter) == in_other && self.result.contains(letter) == in_result
        };
        self.factors[factor].iter().copied().filter(is_wanted).collect()
    }
}

impl<'g> Lowering<'g> {
    /// Returns the sum of products that an equation describes. `None` if nothing is summed, or if a dimension of only
    /// one factor is.
    pub(super) fn einsum(&mut self, call: &Call<'g>, shape: &[i64]) -> Option<TensorId> {
        let Some(Arg::Str(text)) = call.arg(0, "equation") else { return None };
        let equation = Equation::parse(call.graph.str(text))?;
        let factors = match call.positional().get(1)? {
            list @ (Arg::List(_) | Arg::Tuple(_)) => self.tensor_list(*list)?,
            _ => call.positional()[1..].iter().map(|&arg| self.tensor(arg)).collect::<Option<_>>()?,
        };
        let &[left, right] = factors.as_slice() else { return None };
        let batch = equation.letters(0, true, true);
        let summed = equation.letters(0, true, false);
        let free = [equation.letters(0, false, true), equation.letters(1, false, true)];
        let is_product = !summed.is_empty()
            && equation.letters(0, false, false).is_empty()
            && equation.letters(1, false, false).is_empty();
        is_product.then_some(())?;
        let mut extents = Vec::new();
        let mut matrices = Vec::new();
        for (factor, tensor) in [left, right].into_iter().enumerate() {
            let own = &equation.factors[factor];
            let from = self.tensors[tensor].shape.clone();
            (from.len() == own.len()).then_some(())?;
            // The summed dimensions are last in both factors, where `rows_by_rows` expects them.
            let order = [batch.as_slice(), &free[factor], &summed].concat();
            let places: Option<Vec<usize>> =
                order.iter().map(|letter| own.iter().position(|known| known == letter)).collect();
            let turned = self.permute(tensor, &places?)?;
            let of = |letters: &[char]| -> Vec<i64> {
                let place = |letter: &char| own.iter().position(|known| known == letter);
                letters.iter().filter_map(place).map(|place| from[place]).collect()
            };
            let rows: i64 = of(&free[factor]).iter().product();
            let matrix = [of(&batch), vec![rows, of(&summed).iter().product()]].concat();
            extents.push((of(&batch), of(&free[factor]), rows));
            matrices.push(self.reshape(turned, &matrix));
        }
        let [(batch_extents, left_extents, rows), (other_batch, right_extents, columns)] = extents.as_slice() else {
            return None;
        };
        // A dimension of one element is broadcast by `einsum`.
        (batch_extents == other_batch).then_some(())?;
        let product_shape = [batch_extents.as_slice(), &[*rows, *columns]].concat();
        let product = self.rows_by_rows(matrices[0], matrices[1], &product_shape)?;
        self.begin(call, product);
        let whole = [batch_extents.as_slice(), left_extents, right_extents].concat();
        let product = self.reshape(product, &whole);
        let letters = [batch, free.concat()].concat();
        let order: Option<Vec<usize>> =
            equation.result.iter().map(|letter| letters.iter().position(|known| known == letter)).collect();
        let result = self.permute(product, &order?)?;
        (self.tensors[result].shape == shape).then_some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_grouped_by_where_they_stand() {
        let equation = Equation::parse("b n h c, b h n s -> b s h").unwrap();
        let text = |letters: Vec<char>| letters.into_iter().collect::<String>();
        assert_eq!(text(equation.letters(0, true, true)), "bh");
        assert_eq!(text(equation.letters(0, true, false)), "n");
        assert_eq!(text(equation.letters(0, false, false)), "c");
        assert_eq!(text(equation.letters(1, false, true)), "s");
    }

    #[test]
    fn other_equations_are_left_alone() {
        for text in ["ij->ji", "ij,jk", "ii,ij->j", "...i,ij->...j", "ij,jk,kl->il", ""] {
            assert!(Equation::parse(text).is_none(), "{text}");
        }
    }
}
