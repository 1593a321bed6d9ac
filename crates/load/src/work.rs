//! The environment of a job's thread: shared context, pace, and a [`Worker`] that times operations.

mod context;
mod group;
mod pace;
mod worker;

pub(crate) use context::LoadContext;
pub(crate) use group::{ActorThread, ThreadGroup};
pub(crate) use pace::Pace;
pub(crate) use worker::Worker;
