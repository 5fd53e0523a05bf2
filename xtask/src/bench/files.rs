//! Reading and writing the files of a run.

use std::path::Path;

use crate::house::Done;

/// Returns how many documents a folder of JSON lines contains.
pub fn lines(folder: &Path) -> Result<usize, String> {
    let mut count = 0;
    for entry in std::fs::read_dir(folder).map_err(|e| e.to_string())? {
        let path = entry.map_err(|e| e.to_string())?.path();
        count += std::fs::read_to_string(path).map_err(|e| e.to_string())?.lines().count();
    }
    Ok(count)
}

/// Writes a file; the error names it.
pub fn write(path: &Path, text: &str) -> Done {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns a path as text, empty where it is no UTF-8.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap_or_default()
}

/// Copies the files of a folder to another one.
pub fn copy(from: &Path, to: &Path) -> Done {
    std::fs::create_dir_all(to).map_err(|e| e.to_string())?;
    for entry in std::fs::read_dir(from).map_err(|e| e.to_string())? {
        let entry = entry.map_err(|e| e.to_string())?;
        if entry.path().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).map_err(|e| e.to_string())?;
        }
    }
    Ok(())
}
