//! Writes a table as Parquet, with typed columns.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType,
    Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use super::field::{Field, RowError};
use super::file::{Checked, Written};
use super::number::{days, micros, micros_of_day, unscaled};
use crate::error::ExportError;
use crate::flatten::Cell;
use crate::table::ColumnType;

/// Most rows that are buffered before they are written.
const ROWS_MAX: usize = 100_000;
/// Bytes of text after which the buffered rows are written.
const BYTES_MAX: usize = 16 << 20;
/// Bytes of a decimal number that does not fit 64 bits.
const WIDE_BYTES: i32 = 16;
/// Most digits that always fit 32 bits; the next constant is for 64 bits.
const DIGITS_OF_32_BITS: u8 = 9;
const DIGITS_OF_64_BITS: u8 = 18;

/// An open Parquet file.
pub(super) struct ParquetFile {
    path: PathBuf,
    writer: SerializedFileWriter<Checked>,
    columns: Vec<Buffer>,
    rows: usize,
    bytes: usize,
}

/// Buffered values of a column.
struct Buffer {
    kind: ColumnType,
    values: Values,
    /// 1 where a row has a value.
    levels: Vec<i16>,
}

enum Values {
    Boolean(Vec<bool>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Bytes(Vec<ByteArray>),
    Wide(Vec<FixedLenByteArray>),
}

impl ParquetFile {
    pub(super) fn create(path: &Path, fields: &[Field]) -> Result<Self, ExportError> {
        let failed = |error| wrap(path, error);
        let columns = fields.iter().map(column).collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let schema = Type::group_type_builder("row").with_fields(columns).build();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("homeroom {}", env!("CARGO_PKG_VERSION")))
            .build();
        let writer = SerializedFileWriter::new(
            Checked::create(path)?,
            Arc::new(schema.map_err(failed)?),
            Arc::new(properties),
        )
        .map_err(failed)?;
        let columns = fields.iter().map(|field| Buffer::new(field.kind)).collect();
        Ok(Self { path: path.to_owned(), writer, columns, rows: 0, bytes: 0 })
    }

    pub(super) fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), RowError> {
        for (at, (column, cell)) in self.columns.iter_mut().zip(cells).enumerate() {
            self.bytes += column.push(cell).ok_or(RowError::Misfit(at))?;
        }
        self.rows += 1;
        if self.rows >= ROWS_MAX || self.bytes >= BYTES_MAX {
            self.write()?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Written, ExportError> {
        self.write()?;
        let file = self.writer.into_inner().map_err(|error| wrap(&self.path, error))?;
        file.finish().map_err(|error| ExportError::of_file(&self.path, error))
    }

    /// Writes the buffered rows as a row group.
    fn write(&mut self) -> Result<(), ExportError> {
        if self.rows == 0 {
            return Ok(());
        }
        let (writer, columns) = (&mut self.writer, &mut self.columns);
        let write = || -> Result<(), ParquetError> {
            let mut group = writer.next_row_group()?;
            for column in columns {
                let mut writer = group
                    .next_column()?
                    .ok_or_else(|| ParquetError::General("a column is missing".into()))?;
                column.write(&mut writer)?;
                writer.close()?;
            }
            group.close()?;
            Ok(())
        };
        write().map_err(|error| wrap(&self.path, error))?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

impl Buffer {
    fn new(kind: ColumnType) -> Self {
        let values = match physical(kind) {
            Physical::BOOLEAN => Values::Boolean(vec![]),
            Physical::INT32 => Values::Int32(vec![]),
            Physical::INT64 => Values::Int64(vec![]),
            Physical::FIXED_LEN_BYTE_ARRAY => Values::Wide(vec![]),
            _ => Values::Bytes(vec![]),
        };
        Self { kind, values, levels: vec![] }
    }

    /// Buffers a cell; returns its size in bytes, or [`None`] if it does not fit the column.
    fn push(&mut self, cell: &Cell<'_>) -> Option<usize> {
        if *cell == Cell::Null {
            self.levels.push(0);
            return Some(2);
        }
        self.levels.push(1);
        match (&mut self.values, cell) {
            (Values::Boolean(values), Cell::Boolean(value)) => values.push(*value),
            (Values::Int32(values), cell) => {
                values.push(i32::try_from(integer(self.kind, cell)?).ok()?);
            }
            (Values::Int64(values), cell) => {
                values.push(i64::try_from(integer(self.kind, cell)?).ok()?);
            }
            (Values::Wide(values), cell) => {
                values.push(integer(self.kind, cell)?.to_be_bytes().to_vec().into());
            }
            (Values::Bytes(values), Cell::Text(text)) => {
                values.push(text.as_bytes().to_vec().into());
                return Some(text.len() + 40);
            }
            _ => return None,
        }
        Some(8)
    }

    fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = std::mem::take(&mut self.levels);
        match &mut self.values {
            Values::Boolean(values) => write::<BoolType>(writer, values, &levels),
            Values::Int32(values) => write::<Int32Type>(writer, values, &levels),
            Values::Int64(values) => write::<Int64Type>(writer, values, &levels),
            Values::Bytes(values) => write::<ByteArrayType>(writer, values, &levels),
            Values::Wide(values) => write::<FixedLenByteArrayType>(writer, values, &levels),
        }
    }
}

fn write<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: &mut Vec<T::T>,
    levels: &[i16],
) -> Result<(), ParquetError> {
    writer.typed::<T>().write_batch(values, Some(levels), None)?;
    values.clear();
    Ok(())
}

/// Returns a cell as the whole number that its column stores.
fn integer(kind: ColumnType, cell: &Cell<'_>) -> Option<i128> {
    Some(match (kind, cell) {
        (ColumnType::Integer | ColumnType::BigInteger, Cell::Number(text)) => text.parse().ok()?,
        (_, Cell::Integer(number)) => (*number).into(),
        (ColumnType::Decimal { precision, scale }, Cell::Number(text)) => {
            unscaled(text, precision, scale)?
        }
        (ColumnType::Date, Cell::Text(text)) => days(text)?.into(),
        (ColumnType::Time, Cell::Text(text)) => micros_of_day(text)?.into(),
        (ColumnType::Timestamp, Cell::Text(text)) => micros(text)?.into(),
        (ColumnType::Timestamp, Cell::Moment(micros)) => (*micros).into(),
        _ => return None,
    })
}

fn physical(kind: ColumnType) -> Physical {
    match kind {
        ColumnType::Text => Physical::BYTE_ARRAY,
        ColumnType::Boolean => Physical::BOOLEAN,
        ColumnType::Integer | ColumnType::Date => Physical::INT32,
        ColumnType::BigInteger | ColumnType::Time | ColumnType::Timestamp => Physical::INT64,
        ColumnType::Decimal { precision, .. } if precision <= DIGITS_OF_32_BITS => Physical::INT32,
        ColumnType::Decimal { precision, .. } if precision <= DIGITS_OF_64_BITS => Physical::INT64,
        ColumnType::Decimal { .. } => Physical::FIXED_LEN_BYTE_ARRAY,
    }
}

/// Builds a column of the schema.
///
/// Source: Apache Parquet, LogicalTypes.md.
fn column(field: &Field) -> Result<Arc<Type>, ParquetError> {
    let physical = physical(field.kind);
    let logical = match field.kind {
        ColumnType::Text => Some(LogicalType::String),
        ColumnType::Decimal { precision, scale } => {
            Some(LogicalType::decimal(scale.into(), precision.into()))
        }
        ColumnType::Date => Some(LogicalType::Date),
        ColumnType::Time => Some(LogicalType::time(false, TimeUnit::MICROS)),
        ColumnType::Timestamp => Some(LogicalType::timestamp(true, TimeUnit::MICROS)),
        ColumnType::Integer | ColumnType::BigInteger | ColumnType::Boolean => None,
    };
    let mut builder = Type::primitive_type_builder(&field.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical);
    if let ColumnType::Decimal { precision, scale } = field.kind {
        builder = builder.with_precision(precision.into()).with_scale(scale.into());
    }
    if physical == Physical::FIXED_LEN_BYTE_ARRAY {
        builder = builder.with_length(WIDE_BYTES);
    }
    builder.build().map(Arc::new)
}

/// Turns an error of the Parquet writer into an export error; an I/O error is taken from inside it.
fn wrap(path: &Path, error: ParquetError) -> ExportError {
    let source = match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(error) => *error,
            Err(other) => std::io::Error::other(other),
        },
        other => std::io::Error::other(other),
    };
    ExportError::of_file(path, source)
}
