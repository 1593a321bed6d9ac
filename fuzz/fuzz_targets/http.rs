//! Any words as a request to the page's server. Its bytes are parsed by hyper.
#![no_main]
#![allow(dead_code)]

#[path = "../../crates/stallscope/src/commands/view/http.rs"]
mod server;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|words: (String, String, String, Vec<String>, Vec<String>)| {
    let (method, path, query, hosts, sites) = words;
    match server::Request::new(&method, (&path, &query), &hosts, &sites) {
        Ok(request) => {
            for name in ["run", "at", "find", ""] {
                let _ = (request.value(name), request.number(name).map_err(|answer| answer.into_parts()));
            }
        }
        Err(answer) => assert_eq!(answer.status(), 405),
    }
});
