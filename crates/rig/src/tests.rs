//! Tests on the real kernel. What needs root says so and is skipped without.

pub(crate) mod crash;
