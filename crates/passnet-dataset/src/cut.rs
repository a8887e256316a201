//! One range of a full graph as a separate sample, either unchanged or as a variant.

use passnet_graph::{Graph, Slice, SliceOrder, ValueId, hash, wire};
use passnet_graphnet::{
    GraphNetMeta, graph_module, metas, rename,
    sample::{CONSTRAINTS, GRAPH_HASH, GRAPH_NET, INPUT_META, MODEL, WEIGHT_META},
};
use passnet_record::{ContentId, DType, TensorMeta, TensorValue};
use serde_json::json;

use crate::{
    fold::OpRange,
    hashes::masked,
    import::parse,
    store::{Annotation, GraphKind, Hashes, Input, Literals, SampleFiles, SampleRow, SubgraphOrigin, ValueMeta},
};

/// A full graph with the known facts about its values.
pub(crate) struct Parent {
    path: String,
    source: Option<String>,
    domain: Option<String>,
    meta: GraphNetMeta,
    graph: Graph,
    /// Metas of the graph's inputs; empty if the graph has no `weight_meta.py`.
    tensors: Vec<TensorMeta>,
    annotation: Option<Annotation>,
    rule: CastRule,
}

/// Rule that decides which inputs of a subgraph get the dtype of a variant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CastRule {
    /// Inputs that get the dtype when all float32 inputs of the full graph get it.
    #[default]
    Provenance,
    /// All float32 inputs, as in the published data set.
    Published,
}

/// A variant: indices of an assignment and of a cast of the annotation, each optional.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Variant {
    pub(crate) assignment: Option<usize>,
    pub(crate) cast: Option<usize>,
}

/// The graph of a variant, from which ranges are cut.
pub(crate) struct Varied<'a> {
    parent: &'a Parent,
    variant: Variant,
    graph: Graph,
}

impl Parent {
    pub(crate) fn new(row: &SampleRow, annotation: Option<Annotation>, rule: CastRule) -> Result<Self, String> {
        let (graph, tensors, meta) = if annotation.is_some() {
            let sample = parse(&row.path, &row.files).map_err(|error| error.to_string())?;
            (sample.graph, sample.tensors, sample.meta)
        } else {
            let text = row.files.text(MODEL).unwrap_or_default();
            let graph = graph_module::parse(&row.path, text).map_err(|error| error.to_string())?;
            (graph, Vec::new(), GraphNetMeta::default())
        };
        let (path, source, domain) = (row.path.clone(), row.source.clone(), row.domain.clone());
        Ok(Self { path, source, domain, meta, graph, tensors, annotation, rule })
    }

    /// Returns the variants that the annotation permits: first the unchanged graph, then dtypes, then extents, then both.
    pub(crate) fn variants(&self) -> Vec<Variant> {
        let Some(annotation) = &self.annotation else { return vec![Variant::default()] };
        let casts = || std::iter::once(None).chain((0..annotation.dtypes.len()).map(Some));
        let assignments = std::iter::once(None).chain((0..annotation.assignments.len()).map(Some));
        assignments.flat_map(|assignment| casts().map(move |cast| Variant { assignment, cast })).collect()
    }

    pub(crate) fn vary(&self, variant: Variant) -> Result<Varied<'_>, String> {
        // All graphs use one device. Equal subgraphs of models that were captured on different devices then have equal hashes.
        let mut graph = self.graph.with_device("cpu", None);
        if let Some(annotation) = &self.annotation {
            let mut literals: Vec<&Literals> = Vec::new();
            let cast = variant.cast.filter(|_| self.rule == CastRule::Provenance);
            literals.extend(cast.into_iter().flat_map(|cast| &annotation.dtypes[cast].literals));
            // Extents come last: if both change a node, the cast has already set the dtype in which the graph computes.
            literals.extend(variant.assignment.into_iter().flat_map(|index| &annotation.assignments[index].literals));
            if !literals.is_empty() {
                graph = with_literals(&graph, &literals)?;
            }
        }
        Ok(Varied { parent: self, variant, graph })
    }
}

fn with_literals(graph: &Graph, literals: &[&Literals]) -> Result<Graph, String> {
    // The graph is changed in its wire form, because reading this form checks the laws of graphs again.
    let mut value = wire::to_value(graph);
    for literals in literals {
        let node = &mut value["nodes"][literals.node];
        node["args"] = literals.args.clone();
        node["kwargs"] = literals.kwargs.clone();
    }
    wire::from_value(&value).map_err(|error| error.to_string())
}

/// A range of a graph with the values that cross its boundary. This is enough to find out whether the same subgraph is known.
pub(crate) struct Piece {
    range: OpRange,
    slice: Slice,
    /// Metas of the inputs; `None` if nothing is known about the values of the graph.
    tensors: Option<Vec<TensorMeta>>,
    /// Typed hash, or the structural hash if there are no metas.
    id: ContentId,
}

impl Piece {
    /// Returns the id. Two pieces have the same id exactly if they are equal.
    pub(crate) fn id(&self) -> &ContentId {
        &self.id
    }
}

impl Varied<'_> {
    /// Returns the sample of a range. Without an annotation it has no `weight_meta.py` and no inputs.
    ///
    /// # Errors
    /// As [`Self::piece`].
    pub(crate) fn cut(&self, range: OpRange, kind: GraphKind) -> Result<SampleRow, String> {
        self.sample(self.piece(range)?, kind)
    }

    /// Returns a range without its text. Writing the text is most of the work.
    ///
    /// # Errors
    /// If the range is not a range of the graph, or if no call in it has a result that is used outside. If a value that crosses
    /// the boundary of the range is unknown or not a tensor.
    pub(crate) fn piece(&self, range: OpRange) -> Result<Piece, String> {
        let slice = self.graph.slice(range.indices(), SliceOrder::ByDefinition).map_err(|error| error.to_string())?;
        // Without this, a compiler that removes dead code was once judged correct at 450 times the speed, on a graph whose
        // results were not used.
        let slice = slice.without_dead_calls().map_err(|error| error.to_string())?;
        if let Some(unseen) = slice.graph.unseen() {
            return Err(unseen.to_string());
        }
        if slice.graph.num_nodes() == 0 {
            return Err("no call of the range has a result that is used".to_owned());
        }
        let tensors = self.tensors(&slice)?;
        let id = tensors
            .as_ref()
            .map_or_else(|| hash::structural(&slice.graph), |tensors| hash::typed(&slice.graph, tensors));
        Ok(Piece { range, slice, tensors, id })
    }

    /// Returns a piece as a sample.
    ///
    /// # Errors
    /// If its text cannot be read back.
    pub(crate) fn sample(&self, piece: Piece, kind: GraphKind) -> Result<SampleRow, String> {
        let Piece { range, slice, tensors, id } = piece;
        // Names are replaced, so that equal graphs of different models have equal text.
        let printed = graph_module::print(&slice.graph) + "\n";
        let text = rename::alpha_renamed(&self.parent.path, &printed).map_err(|error| error.to_string())? + "\n";
        let graph = graph_module::parse(&self.parent.path, &text).map_err(|error| error.to_string())?;
        let tensors = tensors.map(|tensors| renamed(tensors, &graph));
        Ok(self.row(range, kind, &id, &graph, text, tensors))
    }

    fn row(
        &self,
        range: OpRange,
        kind: GraphKind,
        id: &ContentId,
        graph: &Graph,
        text: String,
        tensors: Option<Vec<TensorMeta>>,
    ) -> SampleRow {
        let hex = |id: ContentId| id.to_string();
        let ops = graph.op_names();
        let (typed, structure) = match tensors {
            Some(_) => (Some(id.to_string()), hex(hash::structural(graph))),
            None => (None, id.to_string()),
        };
        let hashes = Hashes {
            text: Some(hex(ContentId::of(text.as_bytes()))),
            typed,
            structure: Some(structure),
            masked: masked(graph).ok().map(hex),
            ops: Some(hex(ContentId::of_parts(ops.iter().map(String::as_bytes)))),
        };
        let inputs = tensors.iter().flatten();
        let inputs = inputs.map(|t| Input { name: t.name.clone(), dtype: t.dtype, shape: t.shape.clone() }).collect();
        SampleRow {
            path: format!("{kind}/{id}"),
            kind,
            source: self.parent.source.clone(),
            domain: self.parent.domain.clone(),
            ops,
            inputs,
            hashes,
            origins: vec![SubgraphOrigin { path: self.parent.path.clone(), range }],
            duplicates: Vec::new(),
            files: self.files(range, text, tensors.as_deref()),
        }
    }

    fn files(&self, range: OpRange, text: String, tensors: Option<&[TensorMeta]>) -> SampleFiles {
        let mut files = SampleFiles::default();
        let mut put = |name: &str, text: String| files.insert(name.to_owned(), text.into_bytes());
        if let Some(tensors) = tensors {
            let mut meta = self.parent.meta.clone();
            let annotation = self.parent.annotation.as_ref();
            if let Some(assignment) = self.variant.assignment.and_then(|index| annotation?.assignments.get(index)) {
                meta.other.insert("symbols".to_owned(), json!(assignment.symbols));
            }
            if let Some(cast) = self.variant.cast.and_then(|index| annotation?.dtypes.get(index)) {
                meta.other.insert("dtype_generalization_target_dtype".to_owned(), json!(cast.dtype));
            }
            put(GRAPH_HASH, rename::sha256_hex(&text));
            put(WEIGHT_META, metas::print(tensors));
            put(INPUT_META, String::new());
            put(CONSTRAINTS, String::new());
            put(GRAPH_NET, meta.print());
            put("subgraph_sources.json", json!({&self.parent.path: [[range.start, range.end]]}).to_string());
        }
        put(MODEL, text);
        files
    }

    /// Returns the metas of the inputs of a slice; `None` if nothing is known about the values of the graph.
    fn tensors(&self, slice: &Slice) -> Result<Option<Vec<TensorMeta>>, String> {
        let Some(annotation) = &self.parent.annotation else { return Ok(None) };
        if let Some(&output) = slice.outputs.iter().find(|output| self.shape(annotation, **output).is_none()) {
            return Err(format!("output `{}` is not a tensor", self.parent.graph.name(output)));
        }
        slice.inputs.iter().map(|&input| self.tensor(annotation, input)).collect::<Result<_, _>>().map(Some)
    }

    fn shape<'a>(&self, annotation: &'a Annotation, value: ValueId) -> Option<&'a [u64]> {
        match self.variant.assignment {
            Some(index) => annotation.assignments[index].shapes[value.index()].as_deref(),
            None => annotation.values[value.index()].as_ref().map(|meta| meta.shape.as_slice()),
        }
    }

    fn tensor(&self, annotation: &Annotation, value: ValueId) -> Result<TensorMeta, String> {
        let name = self.parent.graph.name(value);
        let unknown = || format!("input `{name}` is not a tensor, or its shape in this variant is unknown");
        let measured = || annotation.values[value.index()].clone().map(|meta: ValueMeta| meta.named(name));
        // For an input of the full graph, the file of the sample says more than one run: data, domain, deviation.
        let own = self.parent.tensors.get(value.index()).filter(|_| self.parent.graph.node_of(value).is_none());
        let mut tensor = own.cloned().or_else(measured).ok_or_else(unknown)?;
        // As for the graph above, because metas also name a device.
        "cpu".clone_into(&mut tensor.device);
        resize(&mut tensor, self.shape(annotation, value).ok_or_else(unknown)?);
        if let Some(cast) = self.variant.cast {
            let cast = &annotation.dtypes[cast];
            tensor.dtype = match self.parent.rule {
                CastRule::Provenance => cast.types[value.index()].ok_or_else(unknown)?,
                CastRule::Published if tensor.dtype == DType::Float32 => cast.dtype,
                CastRule::Published => tensor.dtype,
            };
        }
        Ok(tensor)
    }
}

/// Changes the shape of a tensor. Literal data is removed, because it has the old shape: integers keep their domain, so that an
/// index stays within its table; floats keep their mean and deviation.
fn resize(tensor: &mut TensorMeta, shape: &[u64]) {
    if tensor.shape == shape {
        return;
    }
    shape.clone_into(&mut tensor.shape);
    let integer = |value: &TensorValue| if let TensorValue::Int(value) = value { Some(*value as f64) } else { None };
    let integers: Vec<f64> = tensor.data.take().iter().flatten().filter_map(integer).collect();
    // A Boolean needs no domain.
    if tensor.dtype != DType::Bool && !integers.is_empty() {
        tensor.min_val = integers.iter().copied().reduce(f64::min);
        tensor.max_val = integers.iter().copied().reduce(f64::max);
    }
}

/// Returns metas under the names that the inputs of `graph` have now.
fn renamed(mut tensors: Vec<TensorMeta>, graph: &Graph) -> Vec<TensorMeta> {
    for (tensor, name) in tensors.iter_mut().zip(graph.input_names()) {
        let old = std::mem::replace(&mut tensor.name, name.to_owned());
        tensor.original_name.get_or_insert(old);
    }
    tensors
}
