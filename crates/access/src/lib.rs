//! Who may do what: applications, keys, tokens, claim sets.
