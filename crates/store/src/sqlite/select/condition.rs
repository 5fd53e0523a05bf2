//! Conditions on a document's text as SQL.

use crate::list::Condition;
use crate::sql::Value;

/// The test of a condition on the document `d`; `bind` gives the name of an argument.
pub(super) fn condition_sql(
    condition: &Condition,
    bind: &mut impl FnMut(Value) -> String,
) -> String {
    let any = |paths: &[String],
               bind: &mut dyn FnMut(Value) -> String,
               test: &dyn Fn(String) -> String| {
        let tests: Vec<String> = paths
            .iter()
            .map(|path| test(format!("json_extract(d.body, {})", bind(path.as_str().into()))))
            .collect();
        format!("({})", tests.join(" OR "))
    };
    match condition {
        Condition::Text { paths, value, fold } => {
            let value = bind(value.as_str().into());
            any(paths, bind, &|found| {
                if *fold {
                    format!("lower({found}) = lower({value})")
                } else {
                    format!("{found} = {value}")
                }
            })
        }
        Condition::Number { paths, value } => {
            let value = bind(value.to_string().into());
            any(paths, bind, &|found| format!("{found} = CAST({value} AS REAL)"))
        }
        Condition::Integer { paths, value } => {
            let value = bind((*value).into());
            any(paths, bind, &|found| format!("{found} = {value}"))
        }
        Condition::Boolean { paths, value } => {
            let value = bind(i64::from(*value).into());
            any(paths, bind, &|found| format!("{found} = {value}"))
        }
        Condition::StartsWith { path, prefixes } => {
            let path = bind(path.as_str().into());
            let tests: Vec<String> = prefixes
                .iter()
                .map(|prefix| {
                    let length = i64::try_from(prefix.chars().count()).unwrap_or(i64::MAX);
                    let prefix = bind(prefix.as_str().into());
                    let length = bind(length.into());
                    format!("substr(json_extract(d.body, {path}), 1, {length}) = {prefix}")
                })
                .collect();
            if tests.is_empty() { "0".into() } else { format!("({})", tests.join(" OR ")) }
        }
        Condition::Uuid(uuid) => format!("d.uuid = {}", bind(uuid.0.to_vec().into())),
        Condition::Key(key) => format!("d.key = {}", bind(key.0.to_vec().into())),
        Condition::Never => "0".into(),
    }
}
