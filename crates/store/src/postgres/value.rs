//! Converts values between the driver and the store.

use std::error::Error;
use std::fmt;

use bytes::BytesMut;
use tokio_postgres::Row as SqlRow;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::id::{DocumentId, KindId, NaturalKey, Uuid};
use crate::postgres::error::Fault;
use crate::row::Row;
use crate::sql::Value;

type Refused = Box<dyn Error + Sync + Send>;

impl ToSql for Value {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Refused> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Integer(number) => match *ty {
                Type::INT2 => i16::try_from(*number)?.to_sql(ty, out),
                Type::INT4 => i32::try_from(*number)?.to_sql(ty, out),
                Type::INT8 => number.to_sql(ty, out),
                Type::BOOL => (*number != 0).to_sql(ty, out),
                _ => Err(format!("a number cannot be sent as {ty}").into()),
            },
            // No stored text contains U+0000, so a text that does equals none of them.
            Self::Text(text) if text.contains('\0') => {
                text.replace('\0', "\u{fffd}").to_sql(ty, out)
            }
            Self::Text(text) => text.to_sql(ty, out),
            Self::Blob(bytes) if *ty == Type::UUID => {
                uuid::Uuid::from_slice(bytes)?.to_sql(ty, out)
            }
            Self::Blob(bytes) => bytes.to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A value to be stored, which must not be altered on its way.
pub(super) struct Written(pub(super) Value);

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
}

impl ToSql for Written {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Refused> {
        match &self.0 {
            Value::Text(text) if text.contains('\0') => Err("a text has U+0000".into()),
            value => value.to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Refused> {
        Ok(match *ty {
            Type::INT2 => Self::Integer(i16::from_sql(ty, raw)?.into()),
            Type::INT4 => Self::Integer(i32::from_sql(ty, raw)?.into()),
            Type::INT8 => Self::Integer(i64::from_sql(ty, raw)?),
            Type::BOOL => Self::Integer(bool::from_sql(ty, raw)?.into()),
            Type::NUMERIC => Self::Integer(whole(raw)?),
            Type::UUID => Self::Blob(uuid::Uuid::from_sql(ty, raw)?.as_bytes().to_vec()),
            Type::BYTEA => Self::Blob(raw.to_vec()),
            _ => Self::Text(String::from_utf8(raw.to_vec())?),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Refused> {
        Ok(Self::Null)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Reads the whole part of a `numeric` in its binary form: number of base-10,000 digits, weight of
/// the first, sign, scale, digits.
///
/// Source: PostgreSQL's `numeric_send`.
fn whole(raw: &[u8]) -> Result<i64, Refused> {
    let mut words = raw.chunks_exact(2).map(|word| i16::from_be_bytes([word[0], word[1]]));
    let mut word = || words.next().ok_or("a numeric is cut off");
    let (count, weight, sign) = (word()?, word()?, word()?);
    word()?;
    let mut number: i64 = 0;
    for at in 0..=weight {
        let digit = if at < count { word()? } else { 0 };
        number = number.checked_mul(10_000).ok_or("a numeric is too large")?;
        number = number.checked_add(digit.into()).ok_or("a numeric is too large")?;
    }
    Ok(if sign == 0x4000 { -number } else { number })
}

/// Returns all values of a row.
pub(super) fn values(row: &SqlRow) -> Result<Vec<Value>, Fault> {
    values_from(row, 0)
}

/// Returns the values of a row from a column on.
pub(super) fn values_from(row: &SqlRow, from: usize) -> Result<Vec<Value>, Fault> {
    (from..row.len()).map(|at| Ok(row.try_get(at)?)).collect()
}

/// Reads a document from [`crate::row::COLUMNS`].
pub(super) fn document(row: &SqlRow) -> Result<Row, Fault> {
    Ok(Row {
        id: DocumentId(row.try_get(0)?),
        uuid: Uuid(bytes(row, 1)?),
        kind: kind(row, 2)?,
        key: NaturalKey(bytes(row, 3)?),
        change_version: row.try_get(4)?,
        modified: row.try_get(5)?,
        references: row.try_get(6)?,
        body: row.try_get(7)?,
    })
}

/// Returns the bytes of a `uuid` column.
pub(super) fn bytes(row: &SqlRow, at: usize) -> Result<[u8; 16], Fault> {
    Ok(row.try_get::<_, uuid::Uuid>(at)?.into_bytes())
}

/// Returns the number of a kind.
pub(super) fn kind(row: &SqlRow, at: usize) -> Result<KindId, Fault> {
    Ok(KindId(u16::try_from(row.try_get::<_, i32>(at)?).unwrap_or(u16::MAX)))
}

/// A column of many rows, as an array that a statement unnests.
#[derive(Debug)]
pub(super) enum Column {
    Kinds(Vec<i32>),
    Numbers(Vec<i64>),
    Uuids(Vec<uuid::Uuid>),
    Bytes(Vec<Vec<u8>>),
    Texts(Vec<String>),
}

/// Returns columns as the arguments of a statement.
pub(super) fn arguments(columns: &[Column]) -> Vec<&(dyn ToSql + Sync)> {
    columns.iter().map(|column| column as &(dyn ToSql + Sync)).collect()
}

impl ToSql for Column {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Refused> {
        match self {
            Self::Kinds(all) => all.to_sql(ty, out),
            Self::Numbers(all) => all.to_sql(ty, out),
            Self::Uuids(all) => all.to_sql(ty, out),
            Self::Bytes(all) => all.to_sql(ty, out),
            Self::Texts(all) => all.to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numeric_is_truncated_to_its_integer_part() {
        let raw = |words: &[i16]| words.iter().flat_map(|w| w.to_be_bytes()).collect::<Vec<u8>>();

        assert_eq!(whole(&raw(&[0, 0, 0, 0])).unwrap(), 0);
        assert_eq!(whole(&raw(&[2, 1, 0, 0, 3, 17])).unwrap(), 30_017);
        assert_eq!(whole(&raw(&[1, 1, 0x4000, 0, 3])).unwrap(), -30_000);
        assert_eq!(whole(&raw(&[2, 0, 0, 2, 3, 5_000])).unwrap(), 3);
        assert_eq!(whole(&raw(&[1, -1, 0, 2, 5_000])).unwrap(), 0);
        assert!(whole(&raw(&[1, 9, 0, 0, 3])).is_err());
        assert!(whole(&[0, 1]).is_err());
    }
}
