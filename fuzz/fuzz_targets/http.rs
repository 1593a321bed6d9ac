//! Any bytes as a request to the page's server.
#![no_main]
#![allow(dead_code)]

#[path = "../../crates/stallscope/src/commands/view/http.rs"]
mod server;

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match server::read(&mut Cursor::new(bytes)) {
        Ok(request) => {
            for name in ["run", "at", "find", ""] {
                let _ = (request.value(name), request.number(name).map_err(|answer| answer.bytes()));
            }
        }
        Err(answer) => assert!(answer.bytes().starts_with(b"HTTP/1.1 4")),
    }
});
