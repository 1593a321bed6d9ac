//! Simulated trials: rates of claimed differences, of effects found, and of carry-over found.

use compare::Verdict;
use model::trial::TrialPeriod;
use simulate::random::Random;

use crate::{FigureKind, FigureTable, Outcome, PeriodFigures, schedule};

const TRIALS: u64 = 400;
const BLOCKS: u32 = 10;
const MARGIN: f64 = 0.05;

/// The load of a machine in each half of each period, before any change.
type Machine = fn(&mut Random, usize) -> Vec<f64>;

fn normal(random: &mut Random) -> f64 {
    let uniform = |random: &mut Random| (random.below(1 << 30) as f64 + 0.5) / f64::from(1 << 30);
    (-2.0 * uniform(random).ln()).sqrt() * (2.0 * std::f64::consts::PI * uniform(random)).cos()
}

fn independent(random: &mut Random, halves: usize) -> Vec<f64> {
    (0..halves).map(|_| (0.1 * normal(random)).exp()).collect()
}

/// Others use the machine: slow changes, and bursts of one to twelve halves that take five times as long.
fn noisy(random: &mut Random, halves: usize) -> Vec<f64> {
    let (mut drift, mut burst) = (normal(random), 0);
    let mut value = |_| {
        drift = 0.95 * drift + 0.31 * normal(random);
        burst = if burst > 0 { burst - 1 } else { random.below(12) * u64::from(random.chance(30)) };
        (0.3 * drift + 0.1 * normal(random)).exp() * if burst > 0 { 5.0 } else { 1.0 }
    };
    (0..halves).map(&mut value).collect()
}

/// It warms up: a trend of a factor of ten over the trial.
fn trending(random: &mut Random, halves: usize) -> Vec<f64> {
    let of = |at: usize| (2.3 * at as f64 / halves as f64 + 0.1 * normal(random)).exp();
    (0..halves).map(of).collect()
}

/// Other work comes and goes every two periods.
fn periodic(random: &mut Random, halves: usize) -> Vec<f64> {
    let phase = random.below(8) as usize;
    (0..halves)
        .map(|at| if ((at + phase) / 4).is_multiple_of(2) { 3.0 } else { 1.0 } * (0.1 * normal(random)).exp())
        .collect()
}

/// Most halves have nothing slow.
fn rare(random: &mut Random, halves: usize) -> Vec<f64> {
    (0..halves).map(|_| if random.chance(200) { random.below(4) as f64 } else { 0.0 }).collect()
}

const MACHINES: [(&str, Machine); 5] =
    [("independent", independent), ("noisy", noisy), ("trending", trending), ("periodic", periodic), ("rare", rare)];

/// A trial of eight figures, of which the change multiplies the first by `factor`; `kept` of it lasts for another half
/// period.
fn trial(machine: Machine, seed: u64, factor: f64, kept: f64) -> Outcome {
    let mut random = Random::new(seed);
    let slots = schedule(BLOCKS, random.below(u64::MAX));
    let columns: Vec<Vec<f64>> = (0..8).map(|_| machine(&mut random, 2 * slots.len())).collect();
    let mut state = 0.0;
    let mut effect = |changed: bool| {
        let target = if changed { factor.ln() } else { 0.0 };
        state = kept * state + (1.0 - kept) * target;
        f64::exp(state)
    };
    let periods = slots.iter().map(|slot| {
        let at = 2 * slot.ordinal as usize;
        let factors = [effect(slot.changed), effect(slot.changed)];
        let half = |half: usize| -> Vec<Option<f64>> {
            let factor = |column: usize| if column == 0 { factors[half] } else { 1.0 };
            columns.iter().enumerate().map(|(column, values)| Some(values[at + half] * factor(column))).collect()
        };
        let halves = [half(0), half(1)];
        let both = |(one, two): (&Option<f64>, &Option<f64>)| Some((one.unwrap() + two.unwrap()) / 2.0);
        let whole = halves[0].iter().zip(&halves[1]).map(both).collect();
        let period = TrialPeriod {
            ordinal: slot.ordinal,
            block: slot.block,
            changed: slot.changed,
            began_ns: 0,
            counted_from_ns: 0,
            ended_ns: 0,
        };
        PeriodFigures { period, whole, halves }
    });
    let kinds =
        std::iter::once(FigureKind::StallTime).chain((1..8).map(|n| FigureKind::Printed(n.to_string()))).collect();
    Outcome::of(&FigureTable { kinds, periods: periods.collect(), device: None }, MARGIN)
}

fn claims(outcome: &Outcome) -> bool {
    outcome.effects.iter().any(|effect| effect.verdict.is_decided())
}

fn share(of: usize) -> f64 {
    100.0 * of as f64 / TRIALS as f64
}

#[test]
fn without_an_effect_at_most_5_percent_of_trials_claim_one() {
    for (name, machine) in MACHINES {
        let outcomes: Vec<Outcome> = (0..TRIALS).map(|seed| trial(machine, seed, 1.0, 0.0)).collect();
        let wrong = share(outcomes.iter().filter(|outcome| claims(outcome)).count());
        let carried = share(outcomes.iter().filter(|outcome| !outcome.carry_over.is_empty()).count());
        println!("A/A, {name}: {wrong:.1} % claim a difference, {carried:.1} % carry-over");
        // 5 % of 400 trials, with a standard deviation of 1.1 %.
        assert!(wrong <= 7.5 && carried <= 7.5, "{name}: {wrong} {carried}");
    }
}

#[test]
fn a_fifth_less_is_found_in_forty_periods() {
    for (name, machine, least) in [("independent", independent as Machine, 99.0), ("trending", trending, 95.0)] {
        let is_found = |outcome: &Outcome| outcome.effects[0].verdict == Verdict::Better;
        let found = share((0..TRIALS).filter(|seed| is_found(&trial(machine, *seed, 0.8, 0.0))).count());
        println!("20 % less, {name}: found in {found:.1} %");
        assert!(found >= least, "{name}: {found}");
    }
}

#[test]
fn intervals_hold_the_truth() {
    let holds = |seed: &u64| {
        let (low, high) = trial(noisy, *seed, 0.8, 0.0).effects[0].ratio.interval.unwrap();
        (low..=high).contains(&0.8)
    };
    let held = share((0..TRIALS).filter(holds).count());
    println!("intervals on a noisy machine hold the truth in {held:.1} %");
    assert!((92.5..=98.0).contains(&held), "{held}");
}

/// An effect that comes and goes slowly is found as carry-over; without it the factor would be believed.
#[test]
fn carry_over_is_found() {
    let carries = |outcome: &Outcome| outcome.carry_over.iter().any(|test| test.kind == FigureKind::StallTime);
    for (kept, least) in [(0.5, 80.0), (0.7, 70.0)] {
        let found = share((0..TRIALS).filter(|seed| carries(&trial(independent, *seed, 0.5, kept))).count());
        println!("carry-over of {kept}: found in {found:.1} %");
        assert!(found >= least, "{kept}: {found}");
    }
}

#[test]
fn few_blocks_get_no_verdict_and_unfinished_ones_do_not_count() {
    let mut random = Random::new(1);
    let rows = |count: u32, random: &mut Random| -> Vec<PeriodFigures> {
        let slots = schedule(7, 1).into_iter().take(count as usize);
        let row = |slot: crate::Slot| {
            let value = vec![Some(if slot.changed { 1.0 } else { 3.0 } + 0.1 * normal(random))];
            let period = TrialPeriod {
                ordinal: slot.ordinal,
                block: slot.block,
                changed: slot.changed,
                began_ns: 0,
                counted_from_ns: 0,
                ended_ns: 0,
            };
            PeriodFigures { period, whole: value.clone(), halves: [value.clone(), value] }
        };
        slots.map(row).collect()
    };
    let mut outcome = |count: u32| {
        let table = FigureTable { kinds: vec![FigureKind::StallTime], periods: rows(count, &mut random), device: None };
        Outcome::of(&table, MARGIN)
    };
    let few = outcome(23);
    assert_eq!((few.blocks, few.left_out, few.effects[0].verdict), (5, 3, Verdict::NotEnoughData));
    assert_eq!(few.effects[0].need_periods, Some(4));
    let enough = outcome(24);
    assert_eq!((enough.blocks, enough.effects[0].verdict, enough.effects[0].need_periods), (6, Verdict::Better, None));
}
