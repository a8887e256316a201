//! A graph to evaluate.

use std::path::Path;

use passnet_graph::{Graph, wire};
use passnet_graphnet::sample::read_sample_dir;
use passnet_record::{ContentId, Device, GraphId, TensorMeta};
use serde_json::Value;

/// A graph with the descriptions of its inputs.
#[derive(Clone, Debug)]
pub struct GraphSample {
    id: GraphId,
    graph: Graph,
    /// Metadata of the inputs, one entry per input, in order.
    metas: Vec<TensorMeta>,
    content: ContentId,
}

/// A sample folder that was read: the sample, or the error of reading. The error becomes a verdict as well.
#[derive(Clone, Debug)]
pub struct SampleFolder {
    /// Place of the sample in the suite.
    pub id: GraphId,
    /// The sample, or the message of the error of reading.
    pub sample: Result<GraphSample, String>,
}

impl SampleFolder {
    /// Reads a sample folder.
    pub fn read(directory: &Path, id: GraphId) -> Self {
        let sample = GraphSample::read(directory, id.clone()).map_err(|error| error.to_string());
        Self { id, sample }
    }
}

impl GraphSample {
    /// Reads a sample folder.
    ///
    /// # Errors
    /// If its files are malformed.
    pub fn read(directory: &Path, id: GraphId) -> Result<Self, passnet_graphnet::Error> {
        let sample = read_sample_dir(directory)?;
        Ok(Self::new(id, sample.graph, sample.tensors))
    }

    /// Makes a sample from a graph and the metadata of its inputs, in the order of the inputs.
    pub fn new(id: GraphId, graph: Graph, metas: Vec<TensorMeta>) -> Self {
        let described = serde_json::to_vec(&metas).unwrap_or_default();
        let text = wire::to_value(&graph).to_string();
        let content = ContentId::of_parts([text.as_bytes(), &described]);
        Self { id, graph, metas, content }
    }

    /// Returns the place in the suite.
    pub fn id(&self) -> &GraphId {
        &self.id
    }

    /// Returns the metadata of the inputs, in order.
    pub fn metas(&self) -> &[TensorMeta] {
        &self.metas
    }

    /// Returns the names of the inputs that were state of the model when it was captured: its parameters, buffers and constants.
    pub fn weights(&self) -> impl Iterator<Item = &str> {
        let names = self.metas.iter().map(|meta| meta.name.as_str());
        // `l_self_` occurs in Dynamo's names for attributes of the module; `extract` gives constants names that begin with `L_constant_`.
        names.filter(|name| name.to_ascii_lowercase().contains("l_self_") || name.starts_with("L_constant_"))
    }

    /// Returns the graph as captured.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Returns the identity of the graph and its inputs. It does not depend on the suite.
    pub fn content(&self) -> &ContentId {
        &self.content
    }

    /// Returns the wire form of the graph for a device.
    pub fn wire(&self, device: Device) -> Value {
        wire::to_value(&self.graph.with_device(device.kind(), device.index()))
    }
}
