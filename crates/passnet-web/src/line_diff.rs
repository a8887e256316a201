//! Two texts side by side, line by line.

use maud::{Markup, html};

use crate::{
    format::counted,
    highlight::{Language, highlighted},
};

/// Largest number of cells (lines times lines) of the table for a difference. In larger texts, all lines between the first and the last
/// different line count as different.
const MAX_CELLS: usize = 4_000_000;
/// Equal lines that are shown next to different ones.
const CONTEXT: usize = 3;
/// Rows that are shown; each has up to two lines.
const MAX_ROWS: usize = 300;
/// Bytes of each side whose keywords and strings are marked.
const MAX_MARKED: usize = 20_000;

/// A row: positions of a line on the left and on the right, from 0. A row with both is an equal line.
type DiffRow = (Option<usize>, Option<usize>);

/// Returns the rows of two texts: a longest common subsequence of lines, and the lines that only one has, left before right.
fn rows(left: &[&str], right: &[&str]) -> Vec<DiffRow> {
    let same = |(a, b): &(&&str, &&str)| a == b;
    // The equal head and tail need no table, which grows with the product of the lines.
    let head = left.iter().zip(right).take_while(same).count();
    let tail = left[head..].iter().rev().zip(right[head..].iter().rev()).take_while(same).count();
    let (old, new) = (&left[head..left.len() - tail], &right[head..right.len() - tail]);
    let mut rows: Vec<DiffRow> = (0..head).map(|at| (Some(at), Some(at))).collect();
    let width = new.len() + 1;
    let mut common = Vec::new();
    if old.len() * new.len() <= MAX_CELLS {
        // `common[i * width + j]` is the length of the longest common subsequence of `old[i..]` and `new[j..]`.
        common = vec![0_u32; (old.len() + 1) * width];
        for (i, line) in old.iter().enumerate().rev() {
            for (j, other) in new.iter().enumerate().rev() {
                let skip = common[(i + 1) * width + j].max(common[i * width + j + 1]);
                common[i * width + j] = if line == other { common[(i + 1) * width + j + 1] + 1 } else { skip };
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        let at = |i: usize, j: usize| common.get(i * width + j).copied().unwrap_or_default();
        if i < old.len() && j < new.len() && old[i] == new[j] && !common.is_empty() {
            rows.push((Some(head + i), Some(head + j)));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || i < old.len() && at(i + 1, j) >= at(i, j + 1) {
            rows.push((Some(head + i), None));
            i += 1;
        } else {
            rows.push((None, Some(head + j)));
            j += 1;
        }
    }
    rows.extend((0..tail).map(|at| (Some(left.len() - tail + at), Some(right.len() - tail + at))));
    paired(rows)
}

/// Puts removed and added lines of one place next to each other. In the result, rows with two positions are equal or changed lines.
fn paired(rows: Vec<DiffRow>) -> Vec<DiffRow> {
    let (mut result, mut removed, mut added): (Vec<DiffRow>, Vec<usize>, Vec<usize>) =
        (Vec::new(), Vec::new(), Vec::new());
    let flush = |result: &mut Vec<DiffRow>, removed: &mut Vec<usize>, added: &mut Vec<usize>| {
        for at in 0..removed.len().max(added.len()) {
            result.push((removed.get(at).copied(), added.get(at).copied()));
        }
        removed.clear();
        added.clear();
    };
    for row in rows {
        match row {
            (Some(line), None) => removed.push(line),
            (None, Some(line)) => added.push(line),
            equal => {
                flush(&mut result, &mut removed, &mut added);
                result.push(equal);
            }
        }
    }
    flush(&mut result, &mut removed, &mut added);
    result
}

/// Returns a table of two files side by side; equal lines far from a difference are left out. `names` head the columns.
pub(crate) fn side_by_side(left: &str, right: &str, names: (&str, &str), language: Language) -> Markup {
    let (old, new): (Vec<&str>, Vec<&str>) = (left.lines().collect(), right.lines().collect());
    let rows = rows(&old, &new);
    let differs = |&(a, b): &DiffRow| a.map(|at| old[at]) != b.map(|at| new[at]);
    let changed: Vec<bool> = rows.iter().map(differs).collect();
    if !changed.contains(&true) {
        return html! { p { "The two files are equal." } };
    }
    let near = |at: usize| changed[at.saturating_sub(CONTEXT)..(at + CONTEXT + 1).min(rows.len())].contains(&true);
    let shown: Vec<usize> = (0..rows.len()).filter(|&at| near(at)).collect();
    let marked = [highlighted(left, language, MAX_MARKED), highlighted(right, language, MAX_MARKED)];
    let cell = |side: usize, at: Option<usize>, differs: bool| {
        let class = ["gone", "come"][side];
        html! {
            @match at {
                Some(at) => { td.line { (at + 1) } td.text.(if differs { class } else { "" }) { (marked[side][at]) } }
                None => { td.line {} td.text.none {} }
            }
        }
    };
    html! {
        div.scroll role="region" aria-label=(format!("{} and {} side by side", names.0, names.1)) tabindex="0" {
            table.diff {
                // The layout is fixed by the first row, and cells of the headings span two columns.
                colgroup { col.line; col; col.line; col; }
                thead { tr { th scope="col" colspan="2" { (names.0) } th scope="col" colspan="2" { (names.1) } } }
                tbody { @for (place, &at) in shown.iter().take(MAX_ROWS).enumerate() {
                    @let before = if place == 0 { 0 } else { shown[place - 1] + 1 };
                    @if at > before { tr.fold { td colspan="4" { (counted(at - before, "equal line")) } } }
                    tr { (cell(0, rows[at].0, changed[at])) (cell(1, rows[at].1, changed[at])) }
                } }
            }
        }
        @if shown.len() > MAX_ROWS { p.about { (counted(shown.len() - MAX_ROWS, "further row")) "." } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(left: &[&str], right: &[&str], expected: &[DiffRow]) {
        assert_eq!(rows(left, right), expected, "{left:?} {right:?}");
    }

    #[test]
    fn lines_are_aligned() {
        check(&[], &[], &[]);
        check(&["a"], &[], &[(Some(0), None)]);
        check(&["a", "b", "c"], &["a", "x", "c"], &[(Some(0), Some(0)), (Some(1), Some(1)), (Some(2), Some(2))]);
        check(&["a", "c"], &["a", "b", "c"], &[(Some(0), Some(0)), (None, Some(1)), (Some(1), Some(2))]);
        check(&["a", "b"], &["b", "a"], &[(Some(0), None), (Some(1), Some(0)), (None, Some(1))]);
    }

    #[test]
    fn every_line_occurs_once() {
        let left: Vec<String> = (0..300).map(|at| (at * 7 % 40).to_string()).collect();
        let right: Vec<String> = (0..250).map(|at| (at * 11 % 40).to_string()).collect();
        let (left, right): (Vec<&str>, Vec<&str>) =
            (left.iter().map(String::as_str).collect(), right.iter().map(String::as_str).collect());
        let rows = rows(&left, &right);
        assert!(rows.iter().filter_map(|row| row.0).eq(0..300) && rows.iter().filter_map(|row| row.1).eq(0..250));
    }

    #[test]
    fn equal_lines_far_away_are_folded() {
        let lines: Vec<String> = (0..50).map(|at| format!("line {at}")).collect();
        let (left, mut other) = (lines.join("\n"), lines.clone());
        other[25] = "changed".to_owned();
        let table = side_by_side(&left, &other.join("\n"), ("a", "b"), Language::Plain).into_string();
        assert_eq!(table.matches("<col class=\"line\">").count(), 2, "{table}");
        assert!(table.contains("22 equal lines") && table.contains("line 22") && !table.contains("line 21"), "{table}");
        assert!(side_by_side(&left, &left, ("a", "b"), Language::Plain).into_string().contains("are equal"));
    }
}
