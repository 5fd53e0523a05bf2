//! What a right value of a setting looks like, in plain words.

/// Returns a list as the file and the environment have it.
pub(super) fn listed(items: &[&str]) -> String {
    let quoted: Vec<String> = items.iter().map(|item| format!("\"{item}\"")).collect();
    format!("[{}] in the file and {} in a variable", quoted.join(", "), items.join(","))
}

/// Says in plain words which kind of value a message wants, where it names a type of the language.
pub(super) fn plainly(message: &str) -> String {
    let parts = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))
        .and_then(|rest| rest.rsplit_once(", expected "));
    let Some((given, wanted)) = parts else { return message.to_owned() };
    let wanted = match wanted {
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "u16" => format!("a whole number from 0 to {}", u16::MAX),
        "u64" | "usize" => "a whole number from 0 on".to_owned(),
        "i32" | "i64" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a string" => "a text".to_owned(),
        _ => return message.to_owned(),
    };
    // The value is quoted after the name of its type.
    let given = given.find(['"', '`']).map_or(given, |at| &given[at..]);
    format!("it must be {wanted}, not {given}")
}
