use std::{
    fs::File,
    marker::PhantomData,
    path::{Path, PathBuf},
    vec,
};

use parquet::arrow::{
    ProjectionMask,
    arrow_reader::{
        ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
    },
};

use super::{
    error::TableError,
    row::{STORE_VERSION, TABLE_KEY, VERSION_KEY, View},
};

/// Number of rows that are read at a time. A sample can have several megabytes.
const BATCH_ROWS: usize = 32;

/// Reads one Parquet file row by row in bounded memory.
///
/// As an iterator it returns rows in order. A row group that cannot be read gives one error that names it. Reading then continues
/// with the next one.
pub struct TableReader<R: View> {
    path: PathBuf,
    file: File,
    metadata: ArrowReaderMetadata,
    next_row_group: usize,
    current: Option<ParquetRecordBatchReader>,
    ready: vec::IntoIter<R>,
    row: PhantomData<R>,
}

impl<R: View> TableReader<R> {
    /// Opens a file of this table.
    ///
    /// # Errors
    /// If the file cannot be opened, is not a Parquet file, belongs to another table, or has a later version.
    pub fn open(path: &Path) -> Result<Self, TableError> {
        let file = File::open(path).map_err(|source| TableError::Io { path: path.to_owned(), source })?;
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())
            .map_err(|source| TableError::File { path: path.to_owned(), source })?;
        let reader = Self {
            path: path.to_owned(),
            file,
            metadata,
            next_row_group: 0,
            current: None,
            ready: Vec::new().into_iter(),
            row: PhantomData,
        };
        reader.check_table()?;
        Ok(reader)
    }

    /// Returns the number of rows according to the file's footer.
    pub fn rows(&self) -> u64 {
        self.metadata.metadata().file_metadata().num_rows().cast_unsigned()
    }

    fn check_table(&self) -> Result<(), TableError> {
        let pairs = self.metadata.metadata().file_metadata().key_value_metadata();
        let value = |key: &str| pairs?.iter().find(|pair| pair.key == key)?.value.clone();
        let error = |message: String| Err(TableError::Schema { path: self.path.clone(), message });
        match value(TABLE_KEY) {
            Some(table) if table == R::TABLE => {}
            Some(table) => return error(format!("this is a table of {table}, expected {}", R::TABLE)),
            None => return error(format!("not written by passnet: no `{TABLE_KEY}` in its metadata")),
        }
        match value(VERSION_KEY).and_then(|version| version.parse::<u32>().ok()) {
            // A new column does not raise the version, if its values may be missing: files without it read as missing values
            // (`Columns::optional`), and older programs ignore columns that they do not know.
            Some(version) if version <= STORE_VERSION => Ok(()),
            Some(version) => {
                error(format!("schema version {version} is newer than this program; install a newer PassNet"))
            }
            None => error(format!("`{VERSION_KEY}` is missing or not a number")),
        }
    }

    /// Reads the next rows of the current row group, or begins the next row group. Returns `None` at the end.
    fn advance(&mut self) -> Option<Result<(), TableError>> {
        if self.current.is_none() {
            let row_group = self.next_row_group;
            if row_group == self.metadata.metadata().num_row_groups() {
                return None;
            }
            self.next_row_group += 1;
            match self.begin(row_group) {
                Ok(reader) => self.current = Some(reader),
                Err(message) => return Some(Err(self.damaged(message))),
            }
        }
        let batch = self.current.as_mut()?.next();
        let rows = match batch {
            None => {
                self.current = None;
                return Some(Ok(()));
            }
            Some(Err(error)) => Err(error.to_string()),
            Some(Ok(batch)) => R::decode(&batch),
        };
        match rows {
            Ok(rows) => {
                self.ready = rows.into_iter();
                Some(Ok(()))
            }
            Err(message) => {
                self.current = None;
                Some(Err(self.damaged(message)))
            }
        }
    }

    fn begin(&self, row_group: usize) -> Result<ParquetRecordBatchReader, String> {
        let file = self.file.try_clone().map_err(|error| error.to_string())?;
        let schema = R::schema();
        let columns = schema.fields().iter().map(|field| field.name().as_str());
        // Reads only the columns of the row type, so that a view of a few columns does not read the texts of samples.
        let mask = ProjectionMask::columns(self.metadata.parquet_schema(), columns);
        ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
            .with_projection(mask)
            // One row group at a time, so that others can be read if one is damaged.
            .with_row_groups(vec![row_group])
            .with_batch_size(BATCH_ROWS)
            .build()
            .map_err(|error| error.to_string())
    }

    /// Returns the error for the row group that was begun last.
    fn damaged(&self, message: String) -> TableError {
        let row_group = self.next_row_group - 1;
        let groups = self.metadata.metadata().row_groups();
        let first_row = groups[..row_group].iter().map(|group| group.num_rows().cast_unsigned()).sum();
        let end_row = first_row + groups[row_group].num_rows().cast_unsigned();
        TableError::RowGroup { path: self.path.clone(), row_group, first_row, end_row, message }
    }
}

impl<R: View> Iterator for TableReader<R> {
    type Item = Result<R, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.ready.next() {
                return Some(Ok(row));
            }
            if let Err(error) = self.advance()? {
                return Some(Err(error));
            }
        }
    }
}
