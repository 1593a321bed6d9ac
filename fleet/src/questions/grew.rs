//! `grew`: which issue or cause grew between two periods.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use statistics::Strata;

use super::lake_or_sql;
use super::verdicts::{Found, Verdicts};
use crate::answer::{numbers, texts};
use crate::cli::GrewArgs;
use crate::days::{Day, Days};
use crate::error::FleetError;
use crate::growth::{HostDays, growth};
use crate::lake::Lake;
use crate::template::Statement;

/// Both periods.
#[derive(Debug, Clone, PartialEq)]
struct Periods {
    before: Days,
    after: Days,
}

/// Stall time by host and day, ns.
type ByHost = BTreeMap<String, BTreeMap<String, f64>>;

/// Stall time by name, host and day, and each name's cause.
#[derive(Debug, Default)]
struct Times {
    by_name: BTreeMap<String, (String, ByHost)>,
}

/// Answers it.
pub(crate) async fn grew(args: &GrewArgs) -> Result<String, FleetError> {
    let periods = Periods::parse(&args.before, &args.after)?;
    let times = periods.fill(include_str!("../../sql/grew.sql")).with("column", args.by.column());
    let reporting = periods.fill(include_str!("../../sql/reporting.sql"));
    let lake = match lake_or_sql(&args.common, &[&times, &reporting]).await? {
        Ok(lake) => lake,
        Err(sql) => return Ok(sql),
    };
    let times = Times::read(&lake, &times).await?;
    let reporting = times.added_to(days_of_hosts(&lake, &reporting).await?);
    let (before, after) = (hosts_in(&reporting, &periods.before), hosts_in(&reporting, &periods.after));
    for (flag, value, hosts) in [("--before", &args.before, before), ("--after", &args.after, after)] {
        if hosts == 0 {
            return Err(FleetError::value(
                flag,
                value,
                "no host reports in that period; choose one that the lake holds",
            ));
        }
    }
    let found = times.tested(&reporting, &periods);
    let verdicts = Verdicts::of(found, args.all, (&args.by.name(), "before", "after"));
    let facts = json!({
        "question": "grew",
        "by": args.by.name(),
        "before": { "from": periods.before.from.to_string(), "to": periods.before.to.to_string(), "hosts": before },
        "after": { "from": periods.after.from.to_string(), "to": periods.after.to.to_string(), "hosts": after },
    });
    if args.common.json {
        return Ok(verdicts.json(facts));
    }
    Ok(verdicts.text(&format!("Hosts that report: {before} before, {after} after."), "grew"))
}

impl Periods {
    fn parse(before: &str, after: &str) -> Result<Periods, FleetError> {
        let problem = "is no day or period; write 2026-11-23, or 2026-11-16..2026-11-22";
        let first = || Day::constant(Day::FIRST);
        let until = |day: Day| Days { from: first(), to: day.previous() };
        let since = |day: Day| Days { from: day, to: Day::constant(Day::LAST) };
        let read = |flag, text: &str, of: &dyn Fn(Day) -> Days| {
            let days = Days::parse(text).or_else(|| Day::parse(text).map(of));
            days.ok_or_else(|| FleetError::value(flag, text, problem))
        };
        let periods = Periods { before: read("--before", before, &until)?, after: read("--after", after, &since)? };
        if periods.before.to >= periods.after.from {
            return Err(FleetError::value("--after", after, format!("begins before --before {before} has ended")));
        }
        Ok(periods)
    }

    fn fill(&self, template: &str) -> Statement {
        Statement::of(template)
            .with("before_from", &self.before.from.to_string())
            .with("before_to", &self.before.to.to_string())
            .with("after_from", &self.after.from.to_string())
            .with("after_to", &self.after.to.to_string())
    }
}

/// Hosts, and the days on which they report.
type Reporting = BTreeMap<String, BTreeSet<String>>;

async fn days_of_hosts(lake: &Lake, statement: &Statement) -> Result<Reporting, FleetError> {
    let mut reporting = Reporting::new();
    for batch in lake.rows(statement.sql()).await? {
        for (host, date) in texts(&batch, "host")?.into_iter().zip(texts(&batch, "date")?) {
            reporting.entry(host).or_default().insert(date);
        }
    }
    Ok(reporting)
}

fn hosts_in(reporting: &Reporting, days: &Days) -> usize {
    reporting.values().filter(|dates| dates.iter().any(|date| days.contains(date))).count()
}

impl Times {
    async fn read(lake: &Lake, statement: &Statement) -> Result<Times, FleetError> {
        let mut times = Times::default();
        for batch in lake.rows(statement.sql()).await? {
            let [names, hosts, dates, causes] = ["name", "host", "date", "cause"].map(|column| texts(&batch, column));
            let (hosts, dates, causes) = (hosts?, dates?, causes?);
            let stall_ns = numbers(&batch, "stall_ns")?;
            for (at, name) in names?.into_iter().enumerate() {
                let (cause, by_host) = times.by_name.entry(name).or_default();
                cause.clone_from(&causes[at]);
                *by_host.entry(hosts[at].clone()).or_default().entry(dates[at].clone()).or_default() += stall_ns[at];
            }
        }
        Ok(times)
    }

    /// Days with stalls are days on which a host reports.
    fn added_to(&self, mut reporting: Reporting) -> Reporting {
        for (host, days) in self.by_name.values().flat_map(|(_, by_host)| by_host) {
            reporting.entry(host.clone()).or_default().extend(days.keys().cloned());
        }
        reporting
    }

    fn tested(&self, reporting: &Reporting, periods: &Periods) -> Vec<Found> {
        let mut strata = Strata::default();
        let in_period = |days: &Days| -> usize {
            reporting.values().map(|dates| dates.iter().filter(|date| days.contains(date)).count()).sum()
        };
        let all = (in_period(&periods.before), in_period(&periods.after));
        let test = |(name, (cause, by_host)): (&String, &(String, ByHost))| {
            let hosts: Vec<HostDays> =
                by_host.iter().map(|(host, times)| host_days(host, times, &reporting[host], periods)).collect();
            let days = |of: fn(&HostDays) -> &Vec<f64>| hosts.iter().map(|host| of(host).len()).sum::<usize>();
            let idle = (all.0 - days(|host| &host.before), all.1 - days(|host| &host.after));
            let growth = growth(&hosts, (idle.0 as f64, idle.1 as f64), &mut strata);
            let grown = growth.grown.iter().map(|&at| hosts[at].host.clone()).collect();
            Found {
                name: name.clone(),
                cause: cause.clone(),
                hosts: hosts.len(),
                p: growth.p,
                rates_ns: growth.rates,
                interval: growth.interval,
                grown,
                ratio_of_grown: growth.ratio_of_grown,
            }
        };
        self.by_name.iter().map(test).collect()
    }
}

/// A day on which a host reports and has nothing is a day with 0.
fn host_days(host: &str, times: &BTreeMap<String, f64>, dates: &BTreeSet<String>, periods: &Periods) -> HostDays {
    let of = |days: &Days| -> Vec<f64> {
        let in_period = dates.iter().filter(|date| days.contains(date));
        in_period.map(|date| times.get(date).copied().unwrap_or_default()).collect()
    };
    HostDays { host: host.to_owned(), before: of(&periods.before), after: of(&periods.after) }
}
