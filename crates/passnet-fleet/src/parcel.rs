//! Conversion of graphs and candidates to parcels and back. With parcels, a station needs no files of the driver.

use passnet_eval::Candidate;
use passnet_graph::wire;
use passnet_record::{
    PassDirectory,
    fleet::{CandidateParcel, GraphParcel, SampleContent},
};
use passnet_run::{GraphSample, SampleFolder};

use crate::error::FleetError;

pub(crate) fn pack_graph(folder: &SampleFolder) -> GraphParcel {
    let content = match &folder.sample {
        Ok(sample) => SampleContent::Graph { graph: wire::to_value(sample.graph()), inputs: sample.metas().to_vec() },
        Err(message) => SampleContent::Unreadable { message: message.clone() },
    };
    GraphParcel { id: folder.id.clone(), content }
}

/// Unpacks a sample. It equals the packed one in everything that an evaluation and a content key use.
pub(crate) fn unpack_graph(parcel: GraphParcel) -> Result<SampleFolder, FleetError> {
    let GraphParcel { id, content } = parcel;
    let sample = match content {
        SampleContent::Graph { graph, inputs } => Ok(GraphSample::new(id.clone(), wire::from_value(&graph)?, inputs)),
        // An unreadable sample travels as well: the station gives it the same verdict as a run on one
        // machine.
        SampleContent::Unreadable { message } => Err(message),
    };
    Ok(SampleFolder { id, sample })
}

pub(crate) fn pack_candidate(candidate: &Candidate) -> CandidateParcel {
    match candidate {
        Candidate::Eager => CandidateParcel::Eager,
        Candidate::Noop => CandidateParcel::Noop,
        Candidate::Inductor { mode } => CandidateParcel::Inductor { mode: mode.clone() },
        Candidate::Compiler { name, source } => {
            CandidateParcel::Compiler { name: name.clone(), source: source.clone() }
        }
        Candidate::Passes(passes) => CandidateParcel::of_passes(passes),
        Candidate::Refused(reason) => CandidateParcel::Refused { reason: reason.clone() },
    }
}

pub(crate) fn unpack_candidate(parcel: CandidateParcel) -> Result<Candidate, FleetError> {
    Ok(match parcel {
        CandidateParcel::Eager => Candidate::Eager,
        CandidateParcel::Noop => Candidate::Noop,
        CandidateParcel::Inductor { mode } => Candidate::Inductor { mode },
        CandidateParcel::Compiler { name, source } => Candidate::Compiler { name, source },
        CandidateParcel::Refused { reason } => Candidate::Refused(reason),
        CandidateParcel::Passes { files } => {
            let files = files.into_iter().map(|(path, content)| Ok((path, content.into_bytes()?)));
            Candidate::Passes(PassDirectory::new(files.collect::<Result<Vec<_>, FleetError>>()?)?)
        }
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use passnet_record::GraphId;
    use passnet_run::{Selection, Suite};

    use super::*;

    /// A content key depends only on the content, so a station computes the same key as the driver.
    #[test]
    fn every_graph_of_the_demo_survives_the_way() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites/demo");
        let suite = Suite::load(&root, &Selection::default()).unwrap();
        for id in suite.graphs() {
            let folder = SampleFolder::read(&suite.sample_dir(&id), id);
            let line = serde_json::to_string(&pack_graph(&folder)).unwrap();
            let back = unpack_graph(serde_json::from_str(&line).unwrap()).unwrap();
            assert_eq!(back.id, folder.id);
            assert_eq!(back.sample.unwrap().content(), folder.sample.unwrap().content(), "{:?}", folder.id);
        }
    }

    #[test]
    fn what_cannot_be_read_stays_unreadable_and_passes_keep_their_id() {
        let id = GraphId { task: "t".to_owned(), graph: "g".to_owned() };
        let folder = SampleFolder { id, sample: Err("model.py:1:1: no".to_owned()) };
        assert_eq!(unpack_graph(pack_graph(&folder)).unwrap().sample.unwrap_err(), "model.py:1:1: no");
        let passes = PassDirectory::new([("a.py", b"x".to_vec()), ("b.bin", vec![0xff, 0])]).unwrap();
        let Candidate::Passes(back) = unpack_candidate(pack_candidate(&Candidate::Passes(passes.clone()))).unwrap()
        else {
            panic!("not passes")
        };
        assert_eq!(back.id(), passes.id());
        let outside =
            CandidateParcel::Passes { files: vec![("../a".to_owned(), passnet_record::fleet::FileContent::of(b""))] };
        assert!(matches!(unpack_candidate(outside), Err(FleetError::Parcel(_))));
    }
}
