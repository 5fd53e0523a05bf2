//! Reads sizes and shares from the command line.

/// The largest size of a body in bytes: 64 MiB.
const BODY_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Reads the size of a body: `100B`, `1KiB` or `1MiB`.
pub fn size(text: &str) -> Result<usize, String> {
    let size = bytes(text).filter(|size| *size <= BODY_BYTES_MAX);
    size.and_then(|size| usize::try_from(size).ok())
        .ok_or_else(|| "write a size of at most 64MiB, like 100B, 1KiB or 1MiB".into())
}

/// Reads an amount of memory: `512M`, `2G` or `2GiB`.
pub fn memory(text: &str) -> Result<u64, String> {
    bytes(text).filter(|size| *size > 0).ok_or_else(|| "write 512M, 2G or 2GiB".into())
}

/// Reads a share: `1%` or `0.01`.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, of) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share = number.trim().parse::<f64>().ok().map(|share| share / of);
    let share = share.filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "it is not a share from 0% to 100%".into())
}

fn bytes(text: &str) -> Option<u64> {
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit = match &text[at..] {
        "" | "B" => 1,
        "KiB" | "K" => 1 << 10,
        "MiB" | "M" => 1 << 20,
        "GiB" | "G" => 1 << 30,
        "kB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return None,
    };
    text[..at].parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_shares_are_read_with_their_units() {
        for (text, bytes) in [("100", 100), ("1KiB", 1024), ("2MiB", 2_097_152), ("3kB", 3000)] {
            assert_eq!(size(text), Ok(bytes));
        }
        for (text, bytes) in [("2G", 2 << 30), ("512M", 512 << 20), ("1GiB", 1 << 30)] {
            assert_eq!(memory(text), Ok(bytes));
        }
        for (text, part) in [("1%", 0.01), ("0.5", 0.5), ("100 %", 1.0)] {
            assert!((share(text).unwrap() - part).abs() < 1e-9);
        }
        for text in ["", "KiB", "1GiB", "999999999999999999999", "65MiB"] {
            assert!(size(text).is_err(), "{text}");
        }
        assert!(share("101%").is_err() && share("x").is_err() && memory("0").is_err());
    }
}
