//! Conversion between Rust values and Arrow arrays, for the few column types of the store.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
    StructArray,
    types::{ArrowPrimitiveType, Float64Type, Int32Type, Int64Type},
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType, Field, Fields};

/// Returns the type of a list with items of `item`.
pub(super) fn list_type(item: DataType) -> DataType {
    DataType::List(list_item(item))
}

/// Returns the type of a struct without missing fields.
pub(super) fn struct_type<const N: usize>(fields: [(&str, DataType); N]) -> DataType {
    DataType::Struct(fields.into_iter().map(|(name, kind)| Field::new(name, kind, false)).collect())
}

fn list_item(item: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", item, false))
}

/// Returns a column of lists. `lens` are the lengths of the lists, and `items` are the items of all lists in order.
pub(super) fn lists(lens: impl IntoIterator<Item = usize>, items: ArrayRef) -> Result<ArrayRef, ArrowError> {
    let field = list_item(items.data_type().clone());
    Ok(Arc::new(ListArray::try_new(field, OffsetBuffer::from_lengths(lens), items, None)?))
}

/// Returns a column of structs.
pub(super) fn structs<const N: usize>(fields: [(&str, ArrayRef); N]) -> Result<ArrayRef, ArrowError> {
    let types: Fields =
        fields.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), false)).collect();
    let arrays = fields.into_iter().map(|(_, array)| array).collect();
    Ok(Arc::new(StructArray::try_new(types, arrays, None)?))
}

pub(crate) fn strings<'a>(values: impl IntoIterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

pub(super) fn optional_strings<'a>(values: impl IntoIterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(StringArray::from_iter(values))
}

pub(super) fn binaries<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> ArrayRef {
    Arc::new(BinaryArray::from_iter_values(values))
}

pub(super) fn int32s(values: impl IntoIterator<Item = i32>) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(values))
}

pub(super) fn int64s(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

pub(super) fn float64s(values: impl IntoIterator<Item = f64>) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(values))
}

/// The columns of a batch or the fields of a struct, by name and with their types checked.
pub(crate) enum Columns<'a> {
    Batch(&'a RecordBatch),
    Struct(&'a StructArray),
}

impl<'a> Columns<'a> {
    /// Returns a column; `None` if the table does not have it.
    fn find<T: Array + 'static>(&self, name: &str) -> Result<Option<&'a T>, String> {
        let column = match self {
            Self::Batch(batch) => batch.column_by_name(name),
            Self::Struct(fields) => fields.column_by_name(name),
        };
        let typed = |column| downcast(column).map_err(|kind| format!("column `{name}` is of type {kind}"));
        column.map(typed).transpose()
    }

    fn get<T: Array + 'static>(&self, name: &str) -> Result<&'a T, String> {
        self.find(name)?.ok_or_else(|| format!("column `{name}` is missing"))
    }

    /// Returns a column whose values may be missing. All are missing if the table was written before it had the column, so that a new
    /// column does not make older files unreadable.
    fn optional<T: Array + 'static, V: Clone>(
        &self,
        name: &str,
        values: impl Fn(&'a T) -> Vec<Option<V>>,
    ) -> Result<Vec<Option<V>>, String> {
        let rows = match self {
            Self::Batch(batch) => batch.num_rows(),
            Self::Struct(fields) => fields.len(),
        };
        Ok(self.find(name)?.map_or_else(|| vec![None; rows], values))
    }

    /// Returns a column of strings without missing values.
    pub(crate) fn strings(&self, name: &str) -> Result<Vec<String>, String> {
        let values = self.get::<StringArray>(name)?.iter().map(|value| value.map(str::to_owned));
        values.map(|value| value.ok_or_else(|| format!("column `{name}` has a missing value"))).collect()
    }

    pub(super) fn optional_strings(&self, name: &str) -> Result<Vec<Option<String>>, String> {
        self.optional(name, |column: &StringArray| column.iter().map(|value| value.map(str::to_owned)).collect())
    }

    pub(super) fn binaries(&self, name: &str) -> Result<Vec<Vec<u8>>, String> {
        let values = self.get::<BinaryArray>(name)?;
        Ok(values.iter().map(|value| value.unwrap_or_default().to_vec()).collect())
    }

    pub(super) fn int32s(&self, name: &str) -> Result<Vec<i32>, String> {
        self.numbers::<Int32Type>(name)
    }

    pub(super) fn optional_int64s(&self, name: &str) -> Result<Vec<Option<i64>>, String> {
        self.optional(name, |column: &Int64Array| column.iter().collect())
    }

    pub(super) fn optional_float64s(&self, name: &str) -> Result<Vec<Option<f64>>, String> {
        self.optional(name, |column: &Float64Array| column.iter().collect())
    }

    pub(super) fn int64s(&self, name: &str) -> Result<Vec<i64>, String> {
        self.numbers::<Int64Type>(name)
    }

    pub(super) fn float64s(&self, name: &str) -> Result<Vec<f64>, String> {
        self.numbers::<Float64Type>(name)
    }

    fn numbers<T: ArrowPrimitiveType>(&self, name: &str) -> Result<Vec<T::Native>, String> {
        Ok(self.get::<arrow_array::PrimitiveArray<T>>(name)?.values().to_vec())
    }

    /// Returns a column of lists of strings.
    pub(super) fn string_lists(&self, name: &str) -> Result<Vec<Vec<String>>, String> {
        self.lists(name, |items: &StringArray| {
            Ok(items.iter().map(|item| item.unwrap_or_default().to_owned()).collect())
        })
    }

    /// Returns a column of lists of 64-bit integers.
    pub(super) fn int64_lists(&self, name: &str) -> Result<Vec<Vec<i64>>, String> {
        self.lists(name, |items: &arrow_array::PrimitiveArray<Int64Type>| Ok(items.values().to_vec()))
    }

    /// Returns a column of lists of structs; `decode` turns the structs of one row into values.
    pub(super) fn struct_lists<V>(
        &self,
        name: &str,
        decode: impl Fn(&Columns<'_>) -> Result<Vec<V>, String>,
    ) -> Result<Vec<Vec<V>>, String> {
        self.lists(name, |items: &StructArray| decode(&Columns::Struct(items)))
    }

    fn lists<A: Array + 'static, V>(
        &self,
        name: &str,
        decode: impl Fn(&A) -> Result<Vec<V>, String>,
    ) -> Result<Vec<Vec<V>>, String> {
        let rows = self.get::<ListArray>(name)?;
        rows.iter()
            .map(|row| {
                let Some(row) = row else { return Ok(Vec::new()) };
                let items = downcast(&row).map_err(|kind| format!("items of column `{name}` are of type {kind}"))?;
                decode(items).map_err(|message| format!("{name}: {message}"))
            })
            .collect()
    }
}

/// Returns the array as `T`; the error is a description with the type that the array has.
fn downcast<T: 'static>(array: &ArrayRef) -> Result<&T, String> {
    array.as_any().downcast_ref().ok_or_else(|| array.data_type().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_later_versions_are_null_in_older_files() {
        let batch = RecordBatch::try_from_iter([("path", strings(["a", "b"]))]).unwrap();
        let columns = Columns::Batch(&batch);
        assert_eq!(columns.optional_strings("path").unwrap(), [Some("a".to_owned()), Some("b".to_owned())]);
        assert_eq!(columns.optional_strings("later").unwrap(), [None, None]);
        assert_eq!(columns.optional_int64s("later").unwrap(), [None, None]);
        assert_eq!(columns.strings("later").unwrap_err(), "column `later` is missing");
        assert!(columns.optional_int64s("path").unwrap_err().contains("is of type Utf8"));
    }
}
