//! Lakes in S3, on a server of this machine (Python package moto), which is started for the test. Without it nothing is
//! tested.

mod s3 {
    pub(crate) mod lake;
    pub(crate) mod server;
}

use std::path::Path;
use std::process::{Command, Output};

use s3::lake::lake;
use s3::server::Server;

const SECRET: &str = "not-to-be-printed-9c1f";

/// The program with credentials and the server's address. What it prints never holds the secret.
fn fleet(server: &str, words: &[&str]) -> Output {
    let ended = bare(words)
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", SECRET)
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ENDPOINT_URL", server)
        .output()
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(!said.contains(SECRET), "{said}");
    ended
}

fn bare(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope-fleet"));
    let names: Vec<String> = std::env::vars().map(|(name, _)| name).filter(|name| name.starts_with("AWS_")).collect();
    for name in names {
        command.env_remove(name);
    }
    command.args(words);
    command
}

fn expect(ended: &Output, code: i32, text: &str) -> String {
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert_eq!(ended.status.code(), Some(code), "{out}{err}");
    assert!(out.contains(text) || err.contains(text), "no '{text}' in: {out}{err}");
    out.into_owned()
}

fn put(server: &Server, lake: &Path, to: &str) -> Output {
    fleet(&server.url, &["put", lake.to_str().unwrap(), "--to", to])
}

#[test]
fn a_lake_in_a_bucket_answers_as_its_directory_does() {
    let Some(server) = Server::started() else { return };
    server.put("/fleet", b"");
    let folder = tempfile::tempdir().unwrap();
    let runs = lake(folder.path());
    let to = "s3://fleet/some/lake";
    let text = expect(&put(&server, folder.path(), to), 0, &runs[0]);
    assert_eq!(text.lines().filter(|line| line.contains("2 objects")).count(), runs.len(), "{text}");
    let text = expect(&put(&server, folder.path(), to), 0, "already in the lake");
    assert_eq!(text.lines().count(), runs.len());
    for question in
        [&["top", "--by", "host", "--json"][..], &["top", "--by", "kernel", "--json"], &["find", "00ab", "--json"]]
    {
        let ask = |place: &str| {
            let mut words = vec![question[0], place];
            words.extend(&question[1..]);
            expect(&fleet(&server.url, &words), 0, "")
        };
        let answer = ask(to);
        assert_eq!(answer, ask(folder.path().to_str().unwrap()));
        assert!(answer.contains("db 1/a") || question[0] != "top" || question[2] != "host", "{answer}");
    }
}

#[test]
fn a_run_in_an_object_of_several_is_not_put_again() {
    let Some(server) = Server::started() else { return };
    server.put("/fleet", b"");
    let folder = tempfile::tempdir().unwrap();
    let runs = lake(folder.path());
    let below = |name: &str| format!("table=runs/date=2026-11-23/host=web/{name}.parquet");
    let bytes = std::fs::read(folder.path().join(below(&runs[1]))).unwrap();
    server.put("/fleet/l/stallscope-lake.json", b"{\"stallscope_lake\":1}");
    server.put(&format!("/fleet/l/{}", below("compacted-0123456789abcdef")), &bytes);
    let text = expect(&put(&server, folder.path(), "s3://fleet/l"), 0, &format!("{} is already in the lake", runs[1]));
    assert!(text.contains(&format!("{}: 2 objects", runs[0])), "{text}");
}

#[test]
fn what_cannot_be_used_is_refused_with_its_reason() {
    let Some(server) = Server::started() else { return };
    server.put("/fleet", b"");
    server.put("/fleet/mine/letter", b"dear");
    server.put("/fleet/old/stallscope-lake.json", b"{\"stallscope_lake\":9}");
    let folder = tempfile::tempdir().unwrap();
    lake(folder.path());
    let check = |to: &str, code: i32, text: &str| {
        expect(&put(&server, folder.path(), to), code, text);
    };
    check("s3://fleet/mine", 2, "neither empty nor a lake");
    check("s3://fleet/old", 2, "schema version 9");
    check("s3://none/lake", 2, "s3://none/lake/: the bucket is missing");
    check("s3://fleet/a?b", 2, "write it as s3://BUCKET");
    expect(&fleet(&server.url, &["top", "s3://fleet/empty"]), 2, "is not a lake");
    expect(&bare(&["top", "s3://fleet/lake"]).output().unwrap(), 2, "AWS_ACCESS_KEY_ID");
    expect(&fleet(&server.url, &["top", &format!("s3://key:{SECRET}@fleet/lake")]), 2, "environment");
    let url = server.url.clone();
    drop(server);
    expect(&fleet(&url, &["top", "s3://fleet/lake"]), 3, "cannot be read");
}
