//! What the properties have found, each in its smallest world.

use crate::check::Case;
use crate::clock::Clock;
use crate::plan::Resource::{Journal, KernelLock, Server, UserLock};
use crate::plan::{Act, Plan, Resource, Stages, Subject};

fn run(ticks: u64) -> Act {
    Act::Run(ticks)
}

/// At the device alone.
fn disk(device: u64) -> Act {
    Act::Disk { stages: Stages { before: 0, queue: 0, device, throttled: false }, late: 0 }
}

fn log(ticks: u64) -> Act {
    Act::Log { journal: false, ticks, late: 0 }
}

fn with<const N: usize>(resource: usize, inner: [Act; N]) -> Act {
    Act::With { resource, late: 0, inner: inner.into() }
}

/// Acts of a load.
fn plan(resources: Vec<Resource>, tasks: Vec<(u64, Vec<Act>)>) -> Plan {
    Plan { clock: Clock::SLOW, subject: Subject::Load, resources, tasks }
}

/// Tasks that each do one thing from some tick on.
fn case<const N: usize, const M: usize>(resources: [Resource; N], tasks: [(u64, Act); M]) -> Case {
    let tasks = tasks.map(|(begin, act)| (begin, vec![act])).into();
    Case::of(&plan(resources.into(), tasks))
}

/// The holder of a mutex writes a log, then waits for the holder of another mutex, which reads meanwhile. Who waits for
/// the first mutex waits for the log, then for the disk.
#[test]
fn the_holder_of_a_mutex_did_nothing_for_others_before_they_waited() {
    let holder = with(0, [log(6), with(0, [run(1)])]);
    case([UserLock, UserLock], [(3, with(0, [run(1)])), (0, holder), (0, with(1, [disk(15)]))]).shares();
}

/// The same of a server, which runs before it waits for a mutex: the client lost that time to the server.
#[test]
fn a_server_that_ran_before_it_waited_for_a_mutex_is_to_blame_for_that() {
    let holder = with(1, [run(20)]);
    case([Server, UserLock], [(0, with(0, [run(8), with(0, [run(1)])])), (0, holder)]).culprits();
}

/// A server writes a log, then asks another one, which reads for another client by then.
#[test]
fn a_server_did_nothing_for_a_request_before_that_was_sent() {
    let client = with(0, [log(8), with(0, [run(1)])]);
    case([Server, Server], [(0, client), (3, with(1, [disk(15)]))]).shares();
}

/// The other client wrote a log before it asked, while the second server idled: that is not followed.
#[test]
fn what_another_client_did_before_it_asked_is_not_followed() {
    let client = with(0, [run(8), with(0, [run(1)])]);
    let other = (0, vec![log(6), with(1, [run(6)])]);
    let tasks = vec![(0, vec![client]), other];
    Case::of(&plan(vec![Server, Server], tasks)).shares();
}

/// The wait for a mutex is for a device for a moment, then for the mutex.
#[test]
fn a_step_is_no_longer_than_the_part_of_the_wait_that_it_explains() {
    case([UserLock], [(8, with(0, [run(1)])), (0, with(0, [disk(8), run(10)]))]).chains();
}

/// A client asks amid a wait of its server.
#[test]
fn a_step_is_no_longer_than_the_operation() {
    case([Server], [(0, with(0, [log(15)])), (6, with(0, [run(1)]))]).chains();
}

/// The first holder of the inner lock has released it when the second task begins to wait for the outer one.
#[test]
fn a_task_that_released_a_lock_before_a_wait_began_is_not_to_blame_for_it() {
    let outer = with(0, [with(0, [run(1)])]);
    let tasks = [(60, with(0, [run(1)])), (1, outer), (0, with(1, [run(60)])), (0, with(1, [run(30)]))];
    case([KernelLock, KernelLock], tasks).culprits();
}

/// The client has had the lock itself that its server waits for, but not since it asked.
#[test]
fn nobody_waits_for_itself() {
    let first = (0, vec![with(1, [run(15)]), with(0, [run(1)])]);
    let tasks = vec![first, (1, vec![with(0, [with(0, [run(1)])])]), (2, vec![with(1, [run(8)])])];
    Case::of(&plan(vec![Server, KernelLock], tasks)).chains();
}

/// A server works for another server, which the victim asks at another time, and then without a pause for a client.
#[test]
fn the_client_of_a_server_is_asked_again_for_each_request() {
    let victim = (3, vec![with(1, [run(1)]), with(0, [run(1)])]);
    let tasks = vec![victim, (0, vec![with(0, [with(0, [run(8)])])]), (2, vec![with(1, [run(6)])])];
    Case::of(&plan(vec![Server, Server], tasks)).culprits();
}

/// The second task has the lock twice, and does not sleep in between. Who waits for it then waits for that task.
#[test]
fn a_task_that_waits_for_a_lock_again_has_had_it() {
    let twice = (1, vec![with(0, [run(20)]), with(0, [run(1)])]);
    let tasks = vec![(4, vec![with(0, [run(5)])]), twice, (0, vec![with(0, [run(4)])])];
    Case::of(&plan(vec![KernelLock], tasks)).culprits();
}

/// Two servers ran equally long for the task.
#[test]
fn equal_rows_give_equal_findings() {
    let chains = || {
        let inner = with(0, [run(3), with(0, [run(4)])]);
        case([Server, Server], [(0, inner)]).first_chain()
    };
    let first = chains();
    (0..64).for_each(|_| assert_eq!(chains(), first));
}

/// A server asks two things of another one on behalf of its client. As the first of both took less than 10 ms and did
/// not begin or end much earlier or later than what the client asked, the server is taken to have passed that on, and
/// what it waited for afterwards is lost.
#[test]
fn a_server_that_asks_again_has_not_passed_the_first_request_on() {
    let asks_twice = with(0, [with(0, [log(3)]), with(0, [log(2)])]);
    let tasks = vec![(0, vec![asks_twice])];
    Case::of(&Plan { clock: Clock::FAST, ..plan(vec![Server, Server], tasks) }).shares();
}

/// A lock is handed over to a task that then waits for a CPU. Who comes meanwhile notes it as the owner.
#[test]
fn a_task_that_has_a_lock_and_waits_for_a_cpu_has_it() {
    let late = Act::With { resource: 0, late: 30, inner: vec![run(1)] };
    case([KernelLock], [(10, with(0, [run(1)])), (1, late), (0, with(0, [run(6)]))]).culprits();
}

/// A server waits for a mutex twice for one request, each time until its holder released it.
#[test]
fn a_task_that_had_a_mutex_may_wait_for_it_again() {
    let other = vec![with(1, [disk(5)]), with(1, [run(1)])];
    let twice = with(0, [with(0, [run(1)]), with(0, [run(1)])]);
    let tasks = vec![(0, other), (0, vec![twice])];
    Case::of(&Plan { clock: Clock::FAST, ..plan(vec![Server, UserLock], tasks) }).shares();
}

/// The holder of a mutex waits for another one, later than the task that waits for the first, and is woken before.
#[test]
fn a_task_that_began_to_wait_later_and_was_woken_before_had_the_mutex() {
    let holder = (7, vec![with(0, [run(3), with(0, [run(1)])])]);
    let tasks = vec![holder, (0, vec![run(5), with(0, [run(1)])]), (0, vec![with(1, [run(11)])])];
    Case::of(&plan(vec![UserLock, UserLock], tasks)).graph();
}

/// The thread of a journal waits for a CPU before anybody waits for the mutex whose holder it commits for, and runs
/// then.
#[test]
fn culprits_of_a_part_of_a_wait_are_those_of_that_part() {
    let holder = with(0, [with(0, [Act::Preempted(4)])]);
    let late = Act::With { resource: 0, late: 4, inner: vec![run(1)] };
    case([UserLock, Journal], [(6, late), (0, holder)]).culprits();
}

/// Two calls to the kernel wait for one lock, a millisecond after each other.
#[test]
fn a_call_that_has_ended_had_its_lock() {
    let holder = (1, vec![with(0, [run(5), disk(4)])]);
    let twice = (1, vec![with(0, [run(1)]), with(0, [run(1)])]);
    let tasks = vec![(0, vec![disk(8), with(0, [Act::Preempted(2)])]), holder, twice];
    Case::of(&Plan { clock: Clock::FAST, ..plan(vec![KernelLock], tasks) }).graph();
}

/// After the answer of another server, a server waits for a mutex whose holder reads.
#[test]
fn a_proxy_waits_for_others_before_it_passes_an_answer_back() {
    let client = with(0, [with(1, [log(3)]), with(0, [run(1)])]);
    let plan = plan(vec![Server, UserLock, Server], vec![(0, vec![client]), (0, vec![with(1, [run(8), disk(15)])])]);
    Case::of(&Plan { clock: Clock::FAST, ..plan }).shares();
}

/// A server waits for a mutex that it had itself until others got it that had waited for longer.
#[test]
fn a_task_that_released_a_mutex_is_not_to_blame_for_its_own_wait() {
    let twice = vec![with(0, [with(0, [log(20)]), with(0, [run(1)])])];
    let tasks = vec![(0, twice), (5, vec![with(1, [run(1)])]), (3, vec![with(1, [run(1)])])];
    Case::of(&plan(vec![Server, UserLock], tasks)).culprits();
}
