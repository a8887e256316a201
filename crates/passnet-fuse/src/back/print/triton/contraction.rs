//! Products of matrices: a program computes a tile of the result with matrix units, and then everything that the stage computes
//! from the tile.

use passnet_record::DType;

use super::{Loop, TILE_NAMES, TileNames, TritonPrinter, extent::Extent, types::storage_type};
use crate::{
    back::print::size,
    front::expr::{Expr, ExprId},
    plan::{
        contraction::{Contraction, extent},
        stage::Stage,
        tile::Tile,
    },
};

/// Rows of the left factor, with its terms along them.
const LEFT: TileNames = TileNames { row: "row", column: "left_term", in_rows: "in_rows", in_columns: "in_left" };
/// Terms of the right factor, with its columns along them.
const RIGHT: TileNames =
    TileNames { row: "right_term", column: "column", in_rows: "in_right", in_columns: "in_columns" };

impl TritonPrinter<'_> {
    /// Prints the body of the kernel.
    pub(super) fn contraction(&mut self, stage: &Stage, contraction: &Contraction) {
        let Contraction { rows, columns, terms, block_rows, block_columns, block_terms, .. } = contraction;
        let tile = |rows: (i64, i64), columns: (i64, i64)| Tile {
            rows: Some(rows.0),
            columns: columns.0,
            block_rows: rows.1,
            block_columns: columns.1,
            is_looped: false,
            warps: contraction.warps,
        };
        let [down, across, deep] = [(rows, block_rows), (columns, block_columns), (terms, block_terms)]
            .map(|(loops, block)| (extent(loops), *block));
        self.tile = tile(down, across);
        self.place_tile(contraction);
        let named = |loops: &[Loop], whole: &'static str, prefix| super::named(loops.iter(), whole, prefix);
        let (rows, columns) = (named(rows, "row", "i"), named(columns, "column", "j"));
        self.rows.clone_from(&rows);
        self.columns.clone_from(&columns);
        self.split_position("row", &rows);
        self.split_position("column", &columns);
        if self.tile.has_row_mask() {
            self.line(&format!("in_rows = row < {}", size(down.0)));
        }
        if self.tile.has_column_mask() {
            self.line(&format!("in_columns = column < {}", size(across.0)));
        }
        self.comment(self.operations.of_reduction(contraction.tensor));
        let sum = self.zeros("sum", [down.1, across.1]);
        // The small products are summed separately: added to the large sum, they would be rounded away.
        let rest = (contraction.dtype == DType::Float32).then(|| self.zeros("rest", [down.1, across.1]));
        self.line(&format!("for start in range(0, {}, {}):", size(deep.0), size(deep.1)));
        self.indent += 1;
        // Terms lie along columns of the left tile and along rows of the right one, so each needs its own name.
        let (left_terms, right_terms) = (named(terms, "left_term", "k"), named(terms, "right_term", "l"));
        for (name, mask, loops, place) in
            [("left_term", "in_left", &left_terms, "[None, :]"), ("right_term", "in_right", &right_terms, "[:, None]")]
        {
            self.line(&format!("{name} = start + tl.arange(0, {}){place}", size(deep.1)));
            if deep.0 % deep.1 != 0 {
                self.line(&format!("{mask} = {name} < {}", size(deep.0)));
            }
            self.split_position(name, loops);
        }
        self.turn(LEFT, tile(down, deep), rows.clone(), left_terms);
        let left = self.factor(contraction, contraction.left);
        self.turn(RIGHT, tile(deep, across), right_terms, columns.clone());
        let right = self.factor(contraction, contraction.right);
        match &rest {
            Some(rest) => self.split_product(&left, &right, &sum, rest),
            None => self.line(&format!("{sum} = tl.dot({left}, {right}, {sum}, input_precision=\"ieee\")")),
        }
        self.indent -= 1;
        if let Some(rest) = rest {
            // An infinite factor makes `rest` NaN. Then `rest` is not added, because the other sum is infinite or NaN already.
            self.line(&format!("{sum} += tl.where(tl.abs({rest}) < float(\"inf\"), {rest}, 0.0)"));
        }
        self.turn(TILE_NAMES, tile(down, across), rows, columns);
        self.folds.insert(contraction.tensor, sum);
        stage.per_row.iter().flatten().for_each(|statement| self.store(statement));
    }

    /// Prints a tile of zeros, and returns its name.
    fn zeros(&mut self, name: &str, [rows, columns]: [i64; 2]) -> String {
        let zeros = self.fresh(name);
        self.line(&format!("{zeros} = tl.zeros(({}, {}), tl.float32)", size(rows), size(columns)));
        zeros
    }

    /// Adds a product of `float32`, computed as three products of TF32, to two sums: `sum` takes the leading parts of the
    /// factors, `rest` the remaining parts. Together they have the precision of `float32`, with other roundings.
    ///
    /// Triton's own `tf32x3` rounds the leading part of a subnormal number to 0. Its product with infinity is then NaN instead of
    /// infinity.
    fn split_product(&mut self, left: &str, right: &str, sum: &str, rest: &str) {
        for factor in [left, right] {
            self.line(&format!("{factor}_lead = leading({factor})"));
            self.line(&format!("{factor}_rest = {factor} - {factor}_lead"));
        }
        let lead = (format!("{left}_lead"), format!("{right}_lead"));
        let parts = [
            (rest, format!("{left}_rest"), lead.1.clone()),
            (rest, lead.0.clone(), format!("{right}_rest")),
            (sum, lead.0, lead.1),
        ];
        for (sum, left, right) in parts {
            self.line(&format!("{sum} = tl.dot({left}, {right}, {sum}, input_precision=\"tf32\")"));
        }
    }

    /// Prints the position of the program's tile.
    fn place_tile(&mut self, contraction: &Contraction) {
        let (down, across) = contraction.tiles();
        let batch = super::named(contraction.batch.iter(), "batch", "b");
        if extent(&contraction.batch) > 1 {
            self.line(&format!("batch = tl.program_id(0) // {}", size(down * across)));
            self.split_position("batch", &batch);
            self.line(&format!("place = tl.program_id(0) % {}", size(down * across)));
        } else {
            self.line("place = tl.program_id(0)");
        }
        self.fixed = batch;
        let Contraction { block_rows, block_columns, .. } = contraction;
        self.line(&format!("row = place // {} * {1} + tl.arange(0, {1})[:, None]", size(across), size(*block_rows)));
        self.line(&format!(
            "column = place % {} * {1} + tl.arange(0, {1})[None, :]",
            size(across),
            size(*block_columns)
        ));
    }

    /// Switches to another tile, on which later values are printed.
    fn turn(&mut self, axes: TileNames, tile: Tile, rows: Vec<(Loop, String)>, columns: Vec<(Loop, String)>) {
        (self.axes, self.tile, self.rows, self.columns) = (axes, tile, rows, columns);
        self.names.clear();
        self.places.names.clear();
        self.known_conditions.clear();
        self.folded.columns = true;
        let all: Vec<ExprId> = self.roots.clone();
        self.find_extents(&all);
    }

    /// Returns a factor in the type in which it is stored.
    fn factor(&mut self, contraction: &Contraction, id: ExprId) -> String {
        let text = match self.arena.get(id) {
            // Without conversion: matrix units take half types, and a factor in `float32` would need the slow path.
            Expr::Load { buffer, at, .. } => self.stored(*buffer, at, 0),
            _ => format!("{}.to({})", self.value(id, 0), storage_type(contraction.dtype)),
        };
        let Tile { block_rows, block_columns, .. } = self.tile;
        // A vector is a matrix of equal columns: those after the first are not stored.
        let is_whole = self.extents[&id] == Extent { rows: true, columns: true };
        let shape = format!("({}, {})", size(block_rows), size(block_columns));
        let text = if is_whole { text } else { format!("tl.broadcast_to({text}, {shape})") };
        let name = self.fresh("x");
        self.line(&format!("{name} = {text}"));
        name
    }
}
