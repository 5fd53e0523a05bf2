//! The descriptors that a district uses, read from `data/descriptors.txt`.

/// Values of one descriptor.
pub(crate) struct Vocabulary {
    /// Resource name, `SexDescriptor`.
    pub(crate) descriptor: &'static str,
    /// Code values with their short descriptions.
    pub(crate) values: Vec<(&'static str, &'static str)>,
}

/// Returns all vocabularies, in the file's order.
pub(crate) fn vocabularies() -> Vec<Vocabulary> {
    let mut all: Vec<Vocabulary> = vec![];
    for line in include_str!("../data/descriptors.txt").lines() {
        match line.strip_prefix("  ") {
            _ if line.starts_with('#') || line.is_empty() => {}
            None => all.push(Vocabulary { descriptor: line, values: vec![] }),
            Some(value) => {
                let value = value.split_once(" | ").unwrap_or((value, value));
                let owner = all.last_mut().expect("the file begins with a descriptor's name");
                owner.values.push(value);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_descriptor_has_values_and_fits_its_fields() {
        for vocabulary in vocabularies() {
            assert!(vocabulary.descriptor.ends_with("Descriptor"), "{}", vocabulary.descriptor);
            assert!(!vocabulary.values.is_empty(), "{}", vocabulary.descriptor);
            for (code, short) in vocabulary.values {
                assert!(code.len() <= 50 && short.len() <= 75, "{code}");
                assert_eq!(code.trim(), code, "{code}");
            }
        }
    }
}
