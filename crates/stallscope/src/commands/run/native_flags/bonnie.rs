//! The flags of bonnie++.

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::commands::run::request::RunRequest;
use crate::ui::failure::Failure;

const USER: &str = "bonnie user";
const GROUP: &str = "bonnie group";
const MACHINE: &str = "bonnie machine";
const TOGETHER: &str = "bonnie processes";
const BARRIER: &str = "bonnie barrier";
const SEED: &str = "bonnie seed";

pub(super) fn extend(command: Command) -> Command {
    let flag = |id: &'static str, short: char, value: &'static str, help: &'static str| {
        Arg::new(id).short(short).value_name(value).help(help).action(ArgAction::Set).help_heading("bonnie++ flags")
    };
    command
        .arg(flag(USER, 'u', "USER[:GROUP]", "User to run as; must be the current user"))
        .arg(flag(GROUP, 'g', "GROUP", "Ignored; the group is not changed"))
        .arg(flag(MACHINE, 'm', "NAME", "Machine name for --format native"))
        .arg(flag(
            TOGETHER,
            'p',
            "N",
            "Same as --processes N: one run starts all processes, with a common start of each phase",
        ))
        .arg(flag(BARRIER, 'y', "s", "Not needed: -p N synchronizes all processes"))
        .arg(flag(SEED, 'z', "N", "Same as --seed N"))
}

pub(super) fn take(matches: &ArgMatches, request: &mut RunRequest) -> Result<(), Failure> {
    let word = |id: &str| matches.get_one::<String>(id).map(String::as_str);
    if let Some(user) = word(USER) {
        refuse_others(user.split(':').next().unwrap_or(user))?;
    }
    if word(BARRIER).is_some() {
        return Err(Failure::usage(
            "-y: processes of one run are synchronized already; start all of them with one `run bonnie -p N`, and name \
             one \
             directory per process unless they share one",
        ));
    }
    if let Some(processes) = word(TOGETHER) {
        request.set("processes", processes);
    }
    if let Some(seed) = word(SEED) {
        let number = seed.parse().map_err(|_| Failure::usage(format_args!("-z {seed}: expected an integer")))?;
        request.args.seed.get_or_insert(number);
    }
    request.split("-s", &["size", "chunk", "seeks", "seekers"])?;
    request.split("-n", &["files", "max_size", "min_size", "subdirectories", "file_chunk"])?;
    // Links have no size.
    let links = match request.given("max_size") {
        Some("-1") => Some("hard"),
        Some("-2") => Some("symbolic"),
        _ => None,
    };
    if let Some(links) = links {
        request.set("links", links);
        ["max_size", "min_size"].into_iter().for_each(|size| request.set(size, "0b"));
    }
    let host = || rustix::system::uname().nodename().to_string_lossy().into_owned();
    request.notes.push(("machine".to_owned(), word(MACHINE).map_or_else(host, str::to_owned)));
    list_in_order_of_creation(request);
    Ok(())
}

/// Each process lists the files of all processes that share its directory.
fn list_in_order_of_creation(request: &mut RunRequest) {
    let processes = request.given("processes").and_then(|text| text.parse().ok()).unwrap_or(1_usize);
    if processes > request.args.directories.len().max(1) && request.given("order").is_none() {
        request.set("order", "sequential");
    }
}

/// bonnie++ requires -u from root and switches to that user.
fn refuse_others(user: &str) -> Result<(), Failure> {
    let uid = rustix::process::geteuid().as_raw();
    let name = std::fs::read_to_string("/etc/passwd").ok().and_then(|users| name_of(&users, uid));
    if user.parse() == Ok(uid) || name.as_deref() == Some(user) {
        return Ok(());
    }
    Err(Failure::usage(format_args!("-u {user}: run stallscope as that user; it does not switch users")))
}

fn name_of(users: &str, uid: u32) -> Option<String> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, id) = (fields.next()?, fields.nth(1)?);
        (id.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::name_of;

    #[test]
    fn a_user_is_found_by_name_and_number() {
        let users = "root:x:0:0:root:/root:/bin/sh\nbroken\nann:x:1000:1000::/:/bin/sh\n";
        assert_eq!(name_of(users, 1000).as_deref(), Some("ann"));
        assert_eq!(name_of(users, 7), None);
    }
}
