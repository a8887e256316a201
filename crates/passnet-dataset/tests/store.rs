//! The Parquet store: nothing is lost, damage is reported and skipped, and pyarrow reads what we write.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use passnet_dataset::{
    fold::OpRange,
    store::{
        GraphKind, Hashes, Input, NamedFile, SampleFiles, SampleRow, SubgraphOrigin, TableError, TableReader,
        TableWriter, TaskRow,
    },
};
use passnet_record::DType;

fn sample(index: usize) -> SampleRow {
    let mut files = SampleFiles::default();
    files.insert("model.py".to_owned(), format!("import torch  # {index}\n{}", "x = x + 1\n".repeat(200)).into_bytes());
    files.insert("input_meta.py".to_owned(), Vec::new());
    files.insert("weight_meta.py".to_owned(), vec![0xff, 0xfe]);
    files.insert("notes/extra.bin".to_owned(), vec![0, 1, 2, 255]);
    SampleRow {
        path: format!("timm/model_{index}"),
        kind: GraphKind::ALL[index % 4],
        source: index.is_multiple_of(2).then(|| "timm".to_owned()),
        domain: None,
        ops: vec!["conv2d".to_owned(); index % 3],
        inputs: vec![
            Input { name: "x".to_owned(), dtype: DType::BFloat16, shape: vec![1, 3, 224] },
            Input { name: "s".to_owned(), dtype: DType::Int64, shape: vec![] },
        ],
        hashes: Hashes { text: Some(format!("{index:064}")), ..Hashes::default() },
        origins: vec![SubgraphOrigin { path: "timm/parent".to_owned(), range: OpRange::new(3, 9) }],
        duplicates: vec!["a".to_owned(), "b".to_owned()],
        files,
    }
}

/// Writes samples in row groups of a few rows.
fn write_samples(path: &Path, count: usize) -> Vec<SampleRow> {
    let rows: Vec<SampleRow> = (0..count).map(sample).collect();
    let mut writer = TableWriter::with_row_group_bytes(path, 10_000).unwrap();
    rows.iter().cloned().for_each(|row| writer.push(row).unwrap());
    writer.finish().unwrap();
    rows
}

fn read_samples(path: &Path) -> Vec<SampleRow> {
    TableReader::open(path).unwrap().map(Result::unwrap).collect()
}

#[test]
fn samples_come_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/folder/part.parquet");
    let rows = write_samples(&path, 50);
    assert_eq!(read_samples(&path), rows);
    assert_eq!(TableReader::<SampleRow>::open(&path).unwrap().rows(), 50);
}

#[test]
fn tasks_come_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.parquet");
    let pass = NamedFile { name: "pass_dir/fuse.py".to_owned(), content: b"def pattern(x): ...".to_vec() };
    let task = TaskRow {
        id: "t".to_owned(),
        split: Some("eval".to_owned()),
        ops: vec!["add".to_owned()],
        graphs: vec!["t/000".to_owned(), "t/001".to_owned()],
        files: vec![pass],
    };
    let rows = vec![task, TaskRow::default()];
    let mut writer = TableWriter::create(&path).unwrap();
    rows.iter().cloned().for_each(|row| writer.push(row).unwrap());
    writer.finish().unwrap();
    assert_eq!(TableReader::<TaskRow>::open(&path).unwrap().map(Result::unwrap).collect::<Vec<_>>(), rows);
    let wrong_table = TableReader::<SampleRow>::open(&path).err().unwrap();
    assert!(wrong_table.to_string().ends_with("this is a table of tasks, expected samples"), "{wrong_table}");
}

#[test]
fn an_unfinished_file_does_not_exist() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.parquet");
    let mut writer = TableWriter::create(&path).unwrap();
    writer.push(sample(0)).unwrap();
    drop(writer);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_damaged_row_group_is_named_and_the_rest_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.parquet");
    let rows = write_samples(&path, 40);
    // The first row group lies at the beginning of the file.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[64..256].fill(0x55);
    std::fs::File::create(&path).unwrap().write_all(&bytes).unwrap();
    let (good, bad): (Vec<_>, Vec<_>) = TableReader::<SampleRow>::open(&path).unwrap().partition(Result::is_ok);
    let [Err(TableError::RowGroup { path: named, row_group: 0, first_row: 0, end_row, .. })] = bad.as_slice() else {
        panic!("{bad:?}");
    };
    assert_eq!(named, &path);
    let good: Vec<SampleRow> = good.into_iter().map(Result::unwrap).collect();
    assert_eq!(good, rows[*end_row as usize..]);
    assert!(!good.is_empty());
}

#[test]
fn what_is_no_table_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.parquet");
    assert!(matches!(TableReader::<SampleRow>::open(&path), Err(TableError::Io { .. })));
    std::fs::write(&path, "PAR1 and so on").unwrap();
    assert!(matches!(TableReader::<SampleRow>::open(&path), Err(TableError::File { .. })));
}

#[test]
fn pyarrow_reads_the_same() {
    let Some(python) = std::env::var_os("PASSNET_PYTHON").map(PathBuf::from) else {
        println!("skipped: PASSNET_PYTHON is not set");
        return;
    };
    if !Command::new(&python).args(["-c", "import pyarrow.parquet"]).output().unwrap().status.success() {
        println!("skipped: {} has no pyarrow", python.display());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.parquet");
    let rows = write_samples(&path, 30);
    let script = "
import sys, pyarrow.parquet as pq
file = pq.ParquetFile(sys.argv[1])
assert file.metadata.metadata[b'passnet.schema_version'] == b'1'
assert file.num_row_groups > 1
for row in file.read().to_pylist():
    shapes = ['x'.join(map(str, tensor['shape'])) for tensor in row['inputs']]
    print(row['path'], row['kind'], row['source'], len(row['ops']), *shapes, len(row['model_py']), row['input_meta_py'] == '',
          row['weight_meta_py'], row['origins'][0]['end'], row['other_files'][1]['content'].hex())
";
    let output = Command::new(&python).args(["-c", script]).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected: String = rows
        .iter()
        .map(|row| {
            let source = row.source.as_deref().unwrap_or("None");
            let model = row.files.text("model.py").unwrap().len();
            format!("{} {} {source} {} 1x3x224  {model} True None 9 000102ff\n", row.path, row.kind, row.ops.len())
        })
        .collect();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}
