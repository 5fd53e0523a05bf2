//! Interchange files to documents, streamed, in dependency order.
