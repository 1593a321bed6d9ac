//! What a thread of the load works with: what all threads share, its pace, and a [`Worker`] that times what a job does.

mod context;
mod group;
mod pace;
mod worker;

pub(crate) use context::LoadContext;
pub(crate) use group::{ActorThread, ThreadGroup};
pub(crate) use pace::Pace;
pub(crate) use worker::Worker;
