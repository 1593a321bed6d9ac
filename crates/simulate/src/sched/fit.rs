//! Fits a device to recorded requests: depth, servers, and service times.

use std::collections::VecDeque;

use super::arrivals::Recorded;

/// A device that explains the recorded times.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fit {
    /// Most requests at the device at once.
    pub(super) depth: u32,
    /// Requests that it worked on at once.
    pub(super) servers: u32,
    /// Service times, in the order of the requests.
    pub(super) service_ns: Vec<u64>,
    /// Requests that completed before an earlier one whose service should have started first.
    pub(super) out_of_turn: u64,
    /// Rank correlation of service times with the number of requests at the device. Near 0 is good.
    pub(super) load_correlation: f64,
}

/// Finds the number of servers for which service times do not depend on the load of the device. With too few, times
/// shrink with the load, since overlapping service is taken for queueing; with too many, they grow.
pub(super) fn fit(requests: &[Recorded]) -> Fit {
    let (order, at_issue, depth) = moments(requests);
    let mut best: Option<Fit> = None;
    for servers in candidates(depth) {
        let (service_ns, out_of_turn) = services(requests, &order, servers);
        let load_correlation = correlation(&at_issue, &service_ns);
        let fit = Fit { depth, servers, service_ns, out_of_turn, load_correlation };
        let better = best.as_ref().is_none_or(|best| load_correlation.abs() < best.load_correlation.abs());
        if better {
            best = Some(fit);
        }
    }
    best.unwrap_or(Fit { depth, servers: 1, service_ns: Vec::new(), out_of_turn: 0, load_correlation: 0.0 })
}

/// Fits the device with a given number of servers.
pub(super) fn fit_with(requests: &[Recorded], servers: u32) -> Fit {
    let (order, at_issue, depth) = moments(requests);
    let (service_ns, out_of_turn) = services(requests, &order, servers);
    let load_correlation = correlation(&at_issue, &service_ns);
    Fit { depth, servers, service_ns, out_of_turn, load_correlation }
}

fn candidates(depth: u32) -> impl Iterator<Item = u32> {
    let mut next = 1_u32;
    std::iter::from_fn(move || {
        let this = next;
        next += (next / 4).max(1);
        (this <= depth.max(1)).then_some(this)
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DeviceEvent {
    // At equal times, completions make room for issues.
    Done,
    Issued,
}

type Moments = Vec<(u64, DeviceEvent, usize)>;

/// Issues and completions in time order, the requests at the device at each issue, and their maximum.
fn moments(requests: &[Recorded]) -> (Moments, Vec<u32>, u32) {
    let mut order: Moments = Vec::with_capacity(2 * requests.len());
    for (index, request) in requests.iter().enumerate() {
        order.push((request.issued_ns, DeviceEvent::Issued, index));
        // A completion at the time of its issue comes after it.
        order.push((request.completed_ns.max(request.issued_ns + 1), DeviceEvent::Done, index));
    }
    order.sort_unstable();
    let (mut inside, mut most) = (0, 0);
    let mut at_issue = vec![0; requests.len()];
    for (_, what, index) in &order {
        match what {
            DeviceEvent::Issued => {
                inside += 1;
                at_issue[*index] = inside;
                most = most.max(inside);
            }
            DeviceEvent::Done => inside -= 1,
        }
    }
    (order, at_issue, most)
}

/// Service times with this number of servers, in issue order.
fn services(requests: &[Recorded], order: &Moments, servers: u32) -> (Vec<u64>, u64) {
    let mut service_ns = vec![0; requests.len()];
    // In the order in which service started.
    let mut served: VecDeque<(usize, u64)> = VecDeque::new();
    let mut queue: VecDeque<usize> = VecDeque::new();
    let mut out_of_turn = 0;
    for (at_ns, what, index) in order {
        if *what == DeviceEvent::Issued {
            if served.len() < servers as usize {
                served.push_back((*index, *at_ns));
            } else {
                queue.push_back(*index);
            }
            continue;
        }
        let place = match served.iter().position(|(other, _)| other == index) {
            Some(place) => place,
            // It cannot have waited behind all requests in service: its service started instead of the last one's.
            None => {
                out_of_turn += 1;
                queue.retain(|other| other != index);
                let place = served.len() - 1;
                queue.push_front(served[place].0);
                place
            }
        };
        if let Some((_, begun_ns)) = served.remove(place) {
            service_ns[*index] = at_ns - begun_ns;
        }
        if let Some(next) = queue.pop_front() {
            served.push_back((next, *at_ns));
        }
    }
    (service_ns, out_of_turn)
}

/// Spearman's rank correlation; 0 if one side is constant.
fn correlation(loads: &[u32], times: &[u64]) -> f64 {
    let loads = ranks(loads);
    let times = ranks(times);
    let mean = (loads.len() as f64 - 1.0) / 2.0;
    let (mut both, mut load, mut time) = (0.0, 0.0, 0.0);
    for (a, b) in loads.iter().zip(&times) {
        let (a, b) = (a - mean, b - mean);
        both += a * b;
        load += a * a;
        time += b * b;
    }
    if load * time == 0.0 { 0.0 } else { both / (load * time).sqrt() }
}

/// Ranks from 0; equal values share their mean rank.
fn ranks<T: Copy + Ord>(values: &[T]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by_key(|index| values[*index]);
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for equal in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = first as f64 + (equal.len() as f64 - 1.0) / 2.0;
        equal.iter().for_each(|index| ranks[*index] = rank);
        first += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use model::block::Kind;

    use super::fit;
    use crate::agenda::Agenda;
    use crate::random::Random;
    use crate::sched::arrivals::Recorded;
    use crate::sched::device::Device;

    /// Requests of a device with this many servers, under Poisson arrivals at this utilization.
    fn recorded(servers: u32, load: f64) -> (Vec<Recorded>, Vec<u64>) {
        let mut random = Random::new(5);
        let mut at_ns = 0;
        let mean_ns = 1_000_000;
        let between_ns = (mean_ns as f64 / f64::from(servers) / load) as u64;
        let mut requests: Vec<Recorded> = Vec::new();
        let mut truth = Vec::new();
        let mut agenda = Agenda::new();
        for number in 0..4000_usize {
            at_ns += random.time_ns(between_ns);
            agenda.at(at_ns, (true, number));
            truth.push(random.time_ns(mean_ns) + 1000);
            let kind = Kind::default();
            let task = number as u32;
            let (got_ns, issued_ns) = (at_ns, at_ns);
            requests.push(Recorded {
                task,
                kind,
                sector: 0,
                sectors: 8,
                queued_ns: at_ns,
                got_ns,
                issued_ns,
                completed_ns: 0,
            });
        }
        let mut device = Device::new(u32::MAX, servers);
        while let Some((issued, number)) = agenda.next_due() {
            if issued {
                if device.issue(number as u32) {
                    agenda.after(truth[number], (false, number));
                }
                continue;
            }
            requests[number].completed_ns = agenda.now_ns();
            if let Some(next) = device.done() {
                agenda.after(truth[next as usize], (false, next as usize));
            }
        }
        (requests, truth)
    }

    #[test]
    fn servers_and_times_of_a_known_device_are_found() {
        for servers in [1, 2, 4] {
            let (requests, truth) = recorded(servers, 0.8);
            let fit = fit(&requests);
            assert_eq!((fit.servers, fit.out_of_turn), (servers, 0), "{}", fit.load_correlation);
            assert_eq!(fit.service_ns, truth);
        }
    }
}
