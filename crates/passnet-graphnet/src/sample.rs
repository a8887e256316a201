//! A sample: the graph, the metadata of its inputs, and its origin.
//!
//! [`Sample::parse`] works on texts; [`read_sample_dir`] and [`write_sample_dir`] are the only functions of the crate
//! that touch files.

use std::path::Path;

use passnet_graph::{Graph, Slice, ValueId};
use passnet_record::{ContentId, TensorMeta};
use rustc_hash::FxHashMap;

use crate::{Error, ErrorKind, GraphNetMeta, MAX_SOURCE_BYTES, graph_module, metas, source::Source};

/// File of the graph.
pub const MODEL: &str = "model.py";
/// File of the tensor metas.
pub const WEIGHT_META: &str = "weight_meta.py";
/// File of further tensor metas. In practice it is empty.
pub const INPUT_META: &str = "input_meta.py";
/// File of the symbolic dimensions.
pub const CONSTRAINTS: &str = "input_tensor_constraints.py";
/// File of [`GraphNetMeta`].
pub const GRAPH_NET: &str = "graph_net.json";
/// File of GraphNet's id of the graph.
pub const GRAPH_HASH: &str = "graph_hash.txt";

/// A graph with the metadata of its inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub graph: Graph,
    /// One entry for each input of the graph, in the order of the inputs.
    pub tensors: Vec<TensorMeta>,
    /// The content of `graph_net.json`; empty where the file is missing.
    pub meta: GraphNetMeta,
    /// The text of `input_tensor_constraints.py`, verbatim.
    pub constraints: String,
    /// The content of `graph_hash.txt`: an id that PassNet cannot compute from the sample.
    pub graph_hash: Option<String>,
}

/// The files of a sample as text.
#[derive(Clone, Copy, Debug)]
pub struct SampleTexts<'a> {
    /// Name of the folder, for messages.
    pub path: &'a str,
    /// `model.py`
    pub model: &'a str,
    /// `weight_meta.py`
    pub weight_meta: &'a str,
    /// `input_meta.py`
    pub input_meta: Option<&'a str>,
    /// `graph_net.json`
    pub graph_net: Option<&'a str>,
    /// `input_tensor_constraints.py`
    pub constraints: Option<&'a str>,
    /// `graph_hash.txt`
    pub graph_hash: Option<&'a str>,
}

impl Sample {
    /// Reads a sample from its texts.
    ///
    /// # Errors
    /// If a file is malformed, or the tensors are not exactly the parameters of `forward`.
    pub fn parse(texts: &SampleTexts<'_>) -> Result<Self, Error> {
        let path = |file: &str| format!("{}/{file}", texts.path);
        let graph = graph_module::parse(&path(MODEL), texts.model)?;
        let positions: FxHashMap<&str, usize> = graph.input_names().zip(0..).collect();
        let mut tensors: Vec<Option<TensorMeta>> = vec![None; graph.num_inputs()];
        // A tensor may be in either file; the parameters of `forward` decide which tensors belong to the
        // sample.
        for (file, text) in [(INPUT_META, texts.input_meta.unwrap_or_default()), (WEIGHT_META, texts.weight_meta)] {
            let path = path(file);
            for (offset, tensor) in metas::parse_located(&Source::new(&path, text)?)? {
                let error = |kind| Error::at(&path, text, offset, kind);
                match positions.get(tensor.name.as_str()).map(|&position| &mut tensors[position]) {
                    None => return Err(error(ErrorKind::ExtraTensor(tensor.name))),
                    Some(Some(_)) => return Err(error(ErrorKind::DuplicateTensor(tensor.name))),
                    Some(slot) => *slot = Some(tensor),
                }
            }
        }
        let missing = |name: &str| Error::of_file(path(WEIGHT_META), ErrorKind::MissingTensor(name.to_owned()));
        let tensors =
            tensors.into_iter().zip(graph.input_names()).map(|(tensor, name)| tensor.ok_or_else(|| missing(name)));
        Ok(Self {
            tensors: tensors.collect::<Result<_, _>>()?,
            meta: match texts.graph_net {
                Some(text) => GraphNetMeta::parse(&path(GRAPH_NET), text)?,
                None => GraphNetMeta::default(),
            },
            constraints: texts.constraints.unwrap_or_default().to_owned(),
            graph_hash: texts.graph_hash.map(|hash| hash.trim().to_owned()),
            graph,
        })
    }

    /// Returns the sample of a slice of this sample's graph. Metas of the graph's own inputs are copied. `intermediate` returns
    /// the metas of all other values, which are known only from running the graph. The metas get the names of the values.
    ///
    /// # Errors
    /// [`ErrorKind::MissingTensor`] for the first value for which `intermediate` returns nothing.
    pub fn of_slice(
        &self,
        slice: Slice,
        mut intermediate: impl FnMut(ValueId) -> Option<TensorMeta>,
    ) -> Result<Self, Error> {
        let mut tensors = Vec::with_capacity(slice.inputs.len());
        for &value in &slice.inputs {
            // Inputs are the first values of a graph, so their indices are those of their tensors.
            let known = self.tensors.get(value.index()).filter(|_| self.graph.node_of(value).is_none()).cloned();
            let name = self.graph.name(value);
            let missing = || Error::of_file("slice", ErrorKind::MissingTensor(name.to_owned()));
            let mut tensor = known.or_else(|| intermediate(value)).ok_or_else(missing)?;
            name.clone_into(&mut tensor.name);
            tensors.push(tensor);
        }
        Ok(Self { graph: slice.graph, tensors, meta: self.meta.clone(), constraints: String::new(), graph_hash: None })
    }

    /// Returns [`passnet_graph::hash::typed`] of the graph and its tensors.
    pub fn typed_hash(&self) -> ContentId {
        passnet_graph::hash::typed(&self.graph, &self.tensors)
    }
}

/// Reads a folder that holds at least `model.py` and `weight_meta.py`.
///
/// # Errors
/// As [`Sample::parse`]; also if a file cannot be read, is not UTF-8, or is larger than [`MAX_SOURCE_BYTES`].
pub fn read_sample_dir(dir: &Path) -> Result<Sample, Error> {
    let optional = |file| {
        let path = dir.join(file);
        if path.exists() { read_text(&path).map(Some) } else { Ok(None) }
    };
    let (model, weight_meta) = (read_text(&dir.join(MODEL))?, read_text(&dir.join(WEIGHT_META))?);
    let (input_meta, graph_net) = (optional(INPUT_META)?, optional(GRAPH_NET)?);
    let (constraints, graph_hash) = (optional(CONSTRAINTS)?, optional(GRAPH_HASH)?);
    Sample::parse(&SampleTexts {
        path: &dir.display().to_string(),
        model: &model,
        weight_meta: &weight_meta,
        input_meta: input_meta.as_deref(),
        graph_net: graph_net.as_deref(),
        constraints: constraints.as_deref(),
        graph_hash: graph_hash.as_deref(),
    })
}

fn read_text(path: &Path) -> Result<String, Error> {
    // The size is checked before the file is read, so that a huge file does not fill the memory.
    let size = fs_err::metadata(path).map_err(|error| Error::io(path, &error))?.len();
    if size > MAX_SOURCE_BYTES as u64 {
        let found = usize::try_from(size).unwrap_or(usize::MAX);
        let kind = ErrorKind::TooLarge { found, limit: MAX_SOURCE_BYTES };
        return Err(Error::of_file(path.display().to_string(), kind));
    }
    let bytes = fs_err::read(path).map_err(|error| Error::io(path, &error))?;
    String::from_utf8(bytes).map_err(|_| Error::of_file(path.display().to_string(), ErrorKind::NotUtf8))
}

/// Writes a sample as a folder in GraphNet layout. `graph_net.json` is written last, so that its existence marks a complete
/// sample.
///
/// # Errors
/// If a file cannot be written.
pub fn write_sample_dir(dir: &Path, sample: &Sample) -> Result<(), Error> {
    fs_err::create_dir_all(dir).map_err(|error| Error::io(dir, &error))?;
    let write = |file: &str, text: &str| {
        let path = dir.join(file);
        fs_err::write(&path, text).map_err(|error| Error::io(&path, &error))
    };
    write(MODEL, &(graph_module::print(&sample.graph) + "\n"))?;
    write(WEIGHT_META, &metas::print(&sample.tensors))?;
    write(INPUT_META, "")?;
    write(CONSTRAINTS, &sample.constraints)?;
    if let Some(hash) = &sample.graph_hash {
        write(GRAPH_HASH, hash)?;
    }
    write(GRAPH_NET, &sample.meta.print())
}
