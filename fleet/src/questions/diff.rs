//! `diff`: what differs between two sets of hosts or stalls.

use std::collections::BTreeMap;

use serde_json::json;
use statistics::RankTests;

use super::lake_or_sql;
use super::verdicts::{Found, Verdicts};
use crate::answer::{numbers, texts};
use crate::cli::DiffArgs;
use crate::columns::Conditions;
use crate::error::FleetError;
use crate::growth::{HostRate, difference};
use crate::lake::Lake;
use crate::template::Statement;

/// Days of each host of a side.
type Reporting = [BTreeMap<String, f64>; 2];

/// Answers it.
pub(crate) async fn diff(args: &DiffArgs) -> Result<String, FleetError> {
    let (a, b) = (Conditions::parse("--where", &args.a)?, Conditions::parse("--and", &args.b)?);
    let times = Statement::of(include_str!("../../sql/diff.sql"))
        .with("column", args.by.column())
        .with("where_a", &a.stalls)
        .with("where_b", &b.stalls);
    let reporting =
        Statement::of(include_str!("../../sql/diff_reporting.sql")).with("runs_a", &a.runs).with("runs_b", &b.runs);
    let lake = match lake_or_sql(&args.common, &[&times, &reporting]).await? {
        Ok(lake) => lake,
        Err(sql) => return Ok(sql),
    };
    let reporting = read_reporting(&lake, &reporting).await?;
    for ((flag, value), side) in [("--where", &args.a), ("--and", &args.b)].into_iter().zip(&reporting) {
        if side.is_empty() {
            return Err(FleetError::value(flag, value, "no host of the lake reports with that"));
        }
    }
    let found = tested(&lake, &times, &reporting).await?;
    let verdicts = Verdicts::of(found, args.all, (&args.by.name(), "A", "B"));
    let [a, b] = [&reporting[0], &reporting[1]].map(BTreeMap::len);
    let facts = json!({
        "question": "diff",
        "by": args.by.name(),
        "A": { "where": args.a, "hosts": a },
        "B": { "where": args.b, "hosts": b },
    });
    if args.common.json {
        return Ok(verdicts.json(facts));
    }
    Ok(verdicts.text(&format!("Hosts: A {a} ({}), B {b} ({}).", args.a, args.b), "differ"))
}

fn side_of(text: &str) -> usize {
    usize::from(text == "B")
}

async fn read_reporting(lake: &Lake, statement: &Statement) -> Result<Reporting, FleetError> {
    let mut reporting = Reporting::default();
    for batch in lake.rows(statement.sql()).await? {
        let (hosts, days) = (texts(&batch, "host")?, numbers(&batch, "days")?);
        for (at, side) in texts(&batch, "side")?.iter().enumerate() {
            reporting[side_of(side)].insert(hosts[at].clone(), days[at]);
        }
    }
    Ok(reporting)
}

async fn tested(lake: &Lake, statement: &Statement, reporting: &Reporting) -> Result<Vec<Found>, FleetError> {
    let mut by_name: BTreeMap<String, (String, Reporting)> = BTreeMap::new();
    for batch in lake.rows(statement.sql()).await? {
        let (names, hosts, causes) = (texts(&batch, "name")?, texts(&batch, "host")?, texts(&batch, "cause")?);
        let stall_ns = numbers(&batch, "stall_ns")?;
        for (at, side) in texts(&batch, "side")?.iter().enumerate() {
            let (cause, sides) = by_name.entry(names[at].clone()).or_default();
            cause.clone_from(&causes[at]);
            *sides[side_of(side)].entry(hosts[at].clone()).or_default() += stall_ns[at];
        }
    }
    let mut tests = RankTests::default();
    let test = |(name, (cause, sides)): (String, (String, Reporting))| {
        let [a, b] = [0, 1].map(|side| host_rates(&sides[side], &reporting[side]));
        let difference = difference(&a, &b, &mut tests);
        Found {
            name,
            cause,
            hosts: sides.iter().map(BTreeMap::len).sum(),
            p: difference.p,
            rates_ns: difference.rates,
            interval: difference.interval,
            grown: Vec::new(),
            ratio_of_grown: None,
        }
    };
    Ok(by_name.into_iter().map(test).collect())
}

/// All hosts that report, with their time, which may be 0. A stall of the day after its run's begin needs no run there.
fn host_rates(times: &BTreeMap<String, f64>, days: &BTreeMap<String, f64>) -> Vec<HostRate> {
    let stalled_only = times.keys().filter(|host| !days.contains_key(*host)).map(|host| (host, 1.0));
    let hosts = days.iter().map(|(host, days)| (host, *days)).chain(stalled_only);
    hosts.map(|(host, days)| HostRate { stall_ns: times.get(host).copied().unwrap_or_default(), days }).collect()
}
