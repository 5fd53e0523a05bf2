//! Homeroom's document store: plans, questions, writes, and the engine that runs them.
