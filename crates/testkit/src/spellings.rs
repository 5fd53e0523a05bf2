//! Equivalent spellings of a value.

use homeroom_model::Scalar;
use serde_json::{Value, json};

/// Returns other spellings of a value in canonical form; a text has none.
pub fn spellings(scalar: Scalar, value: &Value) -> Vec<Value> {
    match (scalar, value) {
        (Scalar::Integer { .. } | Scalar::Decimal { .. }, Value::Number(number)) => {
            vec![
                json!(format!(" {number} ")),
                json!(format!("{number}e0")),
                json!(number.to_string()),
            ]
        }
        (Scalar::Boolean, Value::Bool(true)) => {
            vec![json!("True"), json!(1), json!("1"), json!(" TRUE ")]
        }
        (Scalar::Boolean, Value::Bool(false)) => {
            vec![json!("False"), json!(0), json!("0"), json!(" FALSE ")]
        }
        (Scalar::Date, Value::String(date)) => {
            let mut all = days(date);
            for time in ["T00:00:00", " 12:00:00 AM", "T23:30:00-05:00"] {
                all.push(format!("{date}{time}"));
                all.push(format!("{}{time}", days(date)[0]));
            }
            all.push(format!(" {date} "));
            all.into_iter().map(Value::from).collect()
        }
        (Scalar::DateTime, Value::String(moment)) => {
            let (date, clock) = moment.trim_end_matches('Z').split_once('T').unwrap();
            let mut all: Vec<String> = ["", "+00:00", ".000Z", "-0000", " Z"]
                .iter()
                .map(|zone| format!("{date}T{clock}{zone}"))
                .collect();
            for day in days(date) {
                all.push(format!("{day} {clock}"));
                all.extend(clocks(clock).iter().map(|clock| format!("{day} {clock}")));
            }
            if clock == "00:00:00" {
                all.extend(days(date));
                all.push(date.to_owned());
            }
            all.into_iter().map(Value::from).collect()
        }
        (Scalar::Time, Value::String(time)) => {
            let mut all = clocks(time);
            all.extend([format!("{time}.0"), format!(" {time} ")]);
            all.into_iter().map(Value::from).collect()
        }
        (Scalar::Descriptor(_), Value::String(uri)) => {
            vec![json!(format!("{uri} ")), json!(uri.replacen('#', "# ", 1))]
        }
        _ => vec![],
    }
}

/// Returns a date with slashes, month first and year first, with and without leading zeros.
fn days(date: &str) -> Vec<String> {
    let [year, month, day] = date.split('-').collect::<Vec<_>>()[..] else { panic!("{date}") };
    let (m, d) = (month.trim_start_matches('0'), day.trim_start_matches('0'));
    vec![
        format!("{m}/{d}/{year}"),
        format!("{month}/{day}/{year}"),
        format!("{year}/{m}/{d}"),
        format!("{year}/{month}/{day}"),
    ]
}

/// Returns a time of day on a 12-hour clock.
fn clocks(time: &str) -> Vec<String> {
    let (hour, rest) = time.split_once(':').unwrap();
    let hour: u32 = hour.parse().unwrap();
    let half = if hour < 12 { "AM" } else { "PM" };
    let of_twelve = if hour.is_multiple_of(12) { 12 } else { hour % 12 };
    vec![
        format!("{of_twelve}:{rest} {half}"),
        format!("{of_twelve:02}:{rest}{}", half.to_ascii_lowercase()),
    ]
}
