//! Events by hand.
