//! Rows of this part's tables.

use homeroom_store::{Answer, Ask, Lane, Sql, Value, Write};

use crate::error::Error;

/// The lane of courses.
pub(crate) const LANE: Lane = Lane::new("course");

/// A row of the store.
pub(crate) type Row = Vec<Value>;

/// Returns the rows of an answer.
pub(crate) fn rows_of(answer: Option<Answer>) -> Vec<Row> {
    match answer {
        Some(Answer::Rows(rows)) => rows,
        _ => vec![],
    }
}

/// Creates a question about any rows of this part's tables.
pub(crate) fn read(text: &'static str, arguments: Vec<Value>) -> Ask {
    Ask::Rows(LANE.all(), Sql::new(text, arguments))
}

/// Creates a write of any rows of this part's tables.
pub(crate) fn write(text: &'static str, arguments: Vec<Value>) -> Write {
    Write::Rows(LANE.all(), Sql::new(text, arguments))
}

/// Returns what a column of JSON keeps of a value; [`Columns::json`] reads it back.
///
/// # Errors
///
/// The value has no JSON; the refusal says `what` it is.
pub(crate) fn json_column(value: &impl serde::Serialize, what: &str) -> Result<Value, Error> {
    serde_json::to_string(value).map(Value::from).map_err(|_| Error::damaged(what))
}

/// Returns questions of this part as such about the rows of one registration: plans about others
/// do not wait for it.
pub(crate) fn asks_of(registration: &str, asks: Vec<Ask>) -> Vec<Ask> {
    let narrow = |ask| match ask {
        Ask::Rows(rows, sql) if rows == LANE.all() => Ask::Rows(LANE.rows(registration), sql),
        other => other,
    };
    asks.into_iter().map(narrow).collect()
}

/// Returns writes of this part as such of the rows of one registration.
pub(crate) fn writes_of(registration: &str, writes: Vec<Write>) -> Vec<Write> {
    let narrow = |write| match write {
        Write::Rows(rows, sql) if rows == LANE.all() => Write::Rows(LANE.rows(registration), sql),
        other => other,
    };
    writes.into_iter().map(narrow).collect()
}

/// The columns of a row, read in order.
pub(crate) struct Columns<'r> {
    row: &'r [Value],
    at: usize,
    what: &'static str,
}

impl<'r> Columns<'r> {
    pub(crate) fn of(row: &'r [Value], what: &'static str) -> Self {
        Self { row, at: 0, what }
    }

    fn next(&mut self) -> Result<&'r Value, Error> {
        let value = self.row.get(self.at).ok_or_else(|| Error::damaged(self.what))?;
        self.at += 1;
        Ok(value)
    }

    pub(crate) fn text(&mut self) -> Result<String, Error> {
        let what = self.what;
        self.next()?.as_text().map(str::to_owned).ok_or_else(|| Error::damaged(what))
    }

    pub(crate) fn number(&mut self) -> Result<i64, Error> {
        let what = self.what;
        self.next()?.as_integer().ok_or_else(|| Error::damaged(what))
    }

    pub(crate) fn some_text(&mut self) -> Result<Option<String>, Error> {
        Ok(self.next()?.as_text().map(str::to_owned))
    }

    pub(crate) fn some_number(&mut self) -> Result<Option<i64>, Error> {
        Ok(self.next()?.as_integer())
    }

    pub(crate) fn json<T: serde::de::DeserializeOwned>(&mut self) -> Result<T, Error> {
        let what = self.what;
        let text = self.next()?.as_text().ok_or_else(|| Error::damaged(what))?;
        serde_json::from_str(text).map_err(|_| Error::damaged(what))
    }

    pub(crate) fn some_json<T: serde::de::DeserializeOwned>(&mut self) -> Result<Option<T>, Error> {
        let what = self.what;
        let text = self.next()?.as_text();
        text.map(|text| serde_json::from_str(text).map_err(|_| Error::damaged(what))).transpose()
    }
}
