//! Files that define APIs: any text is read or refused, and what is read is written so that it reads back.

use std::path::Path;

use homeroom_apis::{check, differences, read, write};

/// The input is a file of definitions.
///
/// # Panics
///
/// When what has no fault, written and read again, is something else.
pub fn definition(bytes: &[u8]) {
    // A document is another file, and there are files without an end.
    if bytes.windows(7).any(|word| word == b"openapi") {
        return;
    }
    let folder = std::env::temp_dir();
    let file = folder.join(format!("definition-{}.toml", std::process::id()));
    let put = |text: &[u8]| std::fs::write(&file, text).expect("the folder is there");
    put(bytes);
    let Ok(published) = read(Path::new(&file)) else { return };
    if !check(&published).is_empty() {
        return;
    }
    let text = write(&published.definition).expect("what was read can be written");

    put(text.as_bytes());

    let again = read(Path::new(&file)).unwrap_or_else(|faults| panic!("{faults:?}\n{text}"));
    assert!(differences(&published, &again).is_empty(), "{text}");
}
