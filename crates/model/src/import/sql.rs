//! Reads the statements of a dump of tables and foreign keys.
//!
//! Only what such a dump contains is understood: `CREATE TABLE schema.Name ( … );` with one column
//! per line, and `ALTER TABLE … ADD CONSTRAINT … FOREIGN KEY (…) REFERENCES …`. Other statements
//! are skipped. Names match regardless of case.

use std::collections::HashMap;

use super::outcome::Problem;

/// The tables of a dump, by name.
#[derive(Debug, Default)]
pub struct Tables {
    by_name: HashMap<String, Table>,
}

/// One table.
#[derive(Debug)]
pub struct Table {
    /// Name as the dump writes it.
    pub name: String,
    /// Columns in the dump's order.
    pub columns: Vec<Column>,
    /// Columns of the primary key.
    pub primary_key: Vec<String>,
    /// Columns of the alternate key, where the primary key is a surrogate.
    pub alternate_key: Vec<String>,
    /// References to other tables.
    pub foreign_keys: Vec<ForeignKey>,
}

/// One column.
#[derive(Debug)]
pub struct Column {
    /// Name as the dump writes it.
    pub name: String,
    /// Its type.
    pub kind: ColumnKind,
    /// Whether it may be null.
    pub nullable: bool,
}

/// The type of a column, as far as a model needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Text of at most this many characters.
    Text(u32),
    /// A whole number of this many bits (16, 32 or 64).
    Integer(u8),
    /// A number that the database assigns.
    Serial,
    /// A decimal number: precision and scale.
    Decimal(u8, u8),
    /// true or false.
    Boolean,
    /// A date.
    Date,
    /// A time of day.
    Time,
    /// A date with a time.
    Timestamp,
    /// A document's id.
    Uuid,
}

/// A reference to another table's key.
#[derive(Debug)]
pub struct ForeignKey {
    /// Columns of the referring table.
    pub columns: Vec<String>,
    /// The table referred to.
    pub target: String,
    /// Columns of the target, one for each referring column.
    pub target_columns: Vec<String>,
    /// Whether rows are deleted with the target's row: the target is the owner or the base.
    pub owned: bool,
}

impl Tables {
    /// Returns the table with this name, regardless of case.
    pub fn get(&self, name: &str) -> Option<&Table> {
        self.by_name.get(&name.to_ascii_lowercase())
    }

    /// Iterates over all tables.
    pub fn all(&self) -> impl Iterator<Item = &Table> {
        self.by_name.values()
    }
}

impl Table {
    /// Returns the column with this name, regardless of case.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// Returns the foreign key to the owner (of a child table) or to the base (of a subclass's
    /// table).
    pub fn owner(&self) -> Option<&ForeignKey> {
        self.foreign_keys.iter().find(|key| key.owned)
    }

    /// Returns the owner's table and the column's name there, if the column is inherited.
    pub fn inherited(&self, column: &str) -> Option<(&str, &str)> {
        let owner = self.owner()?;
        Some((&owner.target, owner.target_of(column)?))
    }

    /// Whether the column is part of the primary key.
    pub fn in_key(&self, column: &str) -> bool {
        self.primary_key.iter().any(|name| name.eq_ignore_ascii_case(column))
    }
}

impl ForeignKey {
    /// Returns the target's column behind a referring column.
    pub fn target_of(&self, column: &str) -> Option<&str> {
        let at = self.columns.iter().position(|name| name.eq_ignore_ascii_case(column))?;
        self.target_columns.get(at).map(String::as_str)
    }
}

/// Reads the tables from one text and the foreign keys from another.
///
/// # Errors
///
/// Returns every statement that looks like a table or a foreign key but cannot be read.
pub fn read(tables: &str, foreign_keys: &str) -> Result<Tables, Vec<Problem>> {
    let mut found = Tables::default();
    let mut problems = vec![];
    for statement in statements(tables) {
        if let Some(rest) = statement.strip_prefix("CREATE TABLE ") {
            match table(rest) {
                Ok(table) => {
                    found.by_name.insert(table.name.to_ascii_lowercase(), table);
                }
                Err(problem) => problems.push(problem),
            }
        }
    }
    for statement in statements(foreign_keys) {
        let Some(rest) = statement.strip_prefix("ALTER TABLE ") else { continue };
        if !rest.contains(" FOREIGN KEY ") {
            continue;
        }
        let Some((owner, key)) = foreign_key(rest) else {
            problems.push(Problem::new(first_line(rest), "no foreign key that can be read"));
            continue;
        };
        match found.by_name.get_mut(&owner.to_ascii_lowercase()) {
            Some(table) => table.foreign_keys.push(key),
            None => {
                problems.push(Problem::new(owner, "a foreign key of a table that is not there"));
            }
        }
    }
    if found.by_name.is_empty() {
        problems.push(Problem::new("CREATE TABLE", "the file has no tables"));
    }
    if problems.is_empty() { Ok(found) } else { Err(problems) }
}

/// Returns the statements of a dump without its comment lines.
fn statements(text: &str) -> Vec<String> {
    let lines: Vec<&str> =
        text.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
    lines.join("\n").split(';').map(|statement| statement.trim().to_owned()).collect()
}

fn table(rest: &str) -> Result<Table, Problem> {
    let wrong = |what: &str| Problem::new(first_line(rest), what);
    let (name, body) = rest.split_once('(').ok_or_else(|| wrong("`(` is missing"))?;
    let body = body.strip_suffix(')').ok_or_else(|| wrong("`)` is missing"))?;
    let mut table = Table {
        name: unqualified(name).to_owned(),
        columns: vec![],
        primary_key: vec![],
        alternate_key: vec![],
        foreign_keys: vec![],
    };
    for line in body.lines() {
        let line = line.trim().trim_end_matches(',');
        if line.is_empty() {
            continue;
        }
        if line.starts_with("CONSTRAINT ") {
            if let Some((_, columns)) = line.split_once("PRIMARY KEY ") {
                table.primary_key = name_list(columns);
            } else if let Some((_, columns)) = line.split_once("UNIQUE ") {
                table.alternate_key = name_list(columns);
            }
            continue;
        }
        let (name, kind) = line.split_once(' ').ok_or_else(|| wrong("a column without a type"))?;
        let nullable = !kind.ends_with("NOT NULL");
        let kind = column_kind(kind)
            .ok_or_else(|| wrong(&format!("the type `{kind}` of `{name}` is not known")))?;
        table.columns.push(Column { name: name.to_owned(), kind, nullable });
    }
    Ok(table)
}

fn column_kind(text: &str) -> Option<ColumnKind> {
    let text = text.trim_end_matches(" NOT NULL").trim_end_matches(" NULL");
    let (word, arguments) = text.split_once('(').unwrap_or((text, ""));
    let mut numbers = arguments
        .split(')')
        .next()
        .unwrap_or("")
        .split(',')
        .filter_map(|number| number.trim().parse::<u32>().ok());
    let mut small = || numbers.next().and_then(|number| u8::try_from(number).ok());
    Some(match word.trim() {
        "VARCHAR" | "CHAR" => ColumnKind::Text(numbers.next()?),
        "SMALLINT" => ColumnKind::Integer(16),
        "INT" => ColumnKind::Integer(32),
        "BIGINT" => ColumnKind::Integer(64),
        "SERIAL" => ColumnKind::Serial,
        "DECIMAL" | "NUMERIC" => ColumnKind::Decimal(small()?, small().unwrap_or(0)),
        "MONEY" => ColumnKind::Decimal(19, 4),
        "BOOLEAN" => ColumnKind::Boolean,
        "DATE" => ColumnKind::Date,
        "TIME" => ColumnKind::Time,
        "TIMESTAMP" => ColumnKind::Timestamp,
        "UUID" => ColumnKind::Uuid,
        _ => return None,
    })
}

fn foreign_key(rest: &str) -> Option<(String, ForeignKey)> {
    let (owner, rest) = rest.split_once(" ADD CONSTRAINT ")?;
    let (_, rest) = rest.split_once(" FOREIGN KEY ")?;
    let (columns, rest) = rest.split_once("REFERENCES ")?;
    let (target, rest) = rest.split_once('(')?;
    let (target_columns, rest) = rest.split_once(')')?;
    let key = ForeignKey {
        columns: name_list(columns),
        target: unqualified(target).to_owned(),
        target_columns: name_list(target_columns),
        owned: rest.contains("ON DELETE CASCADE"),
    };
    (key.columns.len() == key.target_columns.len()).then(|| (unqualified(owner).to_owned(), key))
}

fn name_list(text: &str) -> Vec<String> {
    text.trim()
        .trim_start_matches('(')
        .trim_end_matches(')')
        .split(',')
        .map(|name| name.trim().to_owned())
        .collect()
}

fn unqualified(name: &str) -> &str {
    let name = name.trim();
    name.rsplit_once('.').map_or(name, |(_, name)| name)
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLES: &str = "\
-- Table edfi.Session --
CREATE TABLE edfi.Session (
    SchoolId BIGINT NOT NULL,
    SessionName VARCHAR(60) NOT NULL,
    Fee MONEY NULL,
    Weight DECIMAL(9, 3) NULL,
    CONSTRAINT Session_PK PRIMARY KEY (SchoolId, SessionName)
);
ALTER TABLE edfi.Session ALTER COLUMN Id SET DEFAULT gen_random_uuid();
CREATE TABLE edfi.SessionWeek (
    SchoolId BIGINT NOT NULL,
    SessionName VARCHAR(60) NOT NULL,
    CONSTRAINT SessionWeek_PK PRIMARY KEY (SchoolId, SessionName)
);
";

    #[test]
    fn tables_and_keys_are_read_from_a_dump() {
        let keys = "ALTER TABLE edfi.SessionWeek ADD CONSTRAINT FK_1 FOREIGN KEY (SchoolId, \
                    SessionName)\nREFERENCES edfi.Session (SchoolId, SessionName)\nON DELETE \
                    CASCADE\n;";

        let found = read(TABLES, keys).unwrap();

        let session = found.get("session").unwrap();
        assert_eq!(session.primary_key, ["SchoolId", "SessionName"]);
        assert_eq!(session.column("fee").unwrap().kind, ColumnKind::Decimal(19, 4));
        assert_eq!(session.column("Weight").unwrap().kind, ColumnKind::Decimal(9, 3));
        let week = found.get("SessionWeek").unwrap();
        assert_eq!(week.inherited("SchoolId"), Some(("Session", "SchoolId")));
    }

    #[test]
    fn a_type_that_is_not_known_is_named() {
        let problems = read("CREATE TABLE edfi.A (\n    B BLOB NULL\n);", "").unwrap_err();

        assert!(problems[0].to_string().contains("BLOB"), "{}", problems[0]);
    }
}
