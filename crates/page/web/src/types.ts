/** The document of crates/page. Absent is null, never 0. */
export type Numbers = (number | null)[];

export interface Line {
  name: string;
  v: Numbers;
  /** Smallest and largest of the points that were merged. */
  lo?: Numbers;
  hi?: Numbers;
}

export interface Lines {
  kind: "lines" | "stack";
  id: string;
  title: string;
  unit: string;
  axis: string;
  log?: boolean;
  series: Line[];
}

export interface Heat {
  kind: "heat";
  id: string;
  title: string;
  unit: string;
  /** Begin of column 0, and the width of each. */
  from_ms: number;
  width_ms: number;
  columns: number[];
  rows: number[];
  counts: number[];
}

export interface Absent {
  kind: "absent";
  id: string;
  title: string;
  why: string;
}

export type Chart = Lines | Heat | Absent;

export interface Axis {
  t: number[];
  points: number;
}

export interface Mark {
  from: number;
  to: number | null;
  kind: "phase" | "stuck" | "clock" | "loss" | "note";
  text: string;
}

// generated: StallColumns
export interface StallColumns {
  /** number among all slow operations of the run; the differences */
  number: number[];
  /** start, since the run's start, µs; the differences */
  start: number[];
  /** µs */
  duration: number[];
  /** operation class or system call: index in `names` */
  operation: number[];
  /** task: index in `names` */
  task: number[];
  /** file: index in `names` */
  path: Numbers;
  /** cause with the largest share: index in the run's causes */
  cause: number[];
  /** that cause's share of the duration, percent */
  share: number[];
  /** 0: still running at the end of the run */
  finished: number[];
  /** 0: of a program beside the recorded command or load */
  own: number[];
}
// end of generated

export interface StallList extends StallColumns {
  seen: number;
  names: string[];
  full: Record<string, Stall>;
}

export interface Stall {
  task: string;
  cgroup: string | null;
  operation: string;
  path: string | null;
  start_ns: number;
  duration_ns: number;
  finished: boolean;
  /** It began before the recording, and took longer. */
  began_before: boolean;
  causes: { cause: string; time_ns: number; evidence: string; detail: string | null }[];
  chain: Link[];
  request: null | {
    device: string;
    device_name: string | null;
    sector: number;
    bytes: number;
    rwbs: string;
    task: string;
    queue_ns: number | null;
    device_ns: number | null;
    throttled: boolean;
    in_flight: Record<string, number>;
    overtaken_by: Record<string, number>;
    in_flight_of: Submitter[] | null;
    overtakers: Submitter[] | null;
  };
  /** What the request's disk completed meanwhile. */
  served: null | { requests: number; bytes: number; by: Submitter[] };
  user_stack: UserFrame[] | null;
  lanes: Lanes;
}

/** A step of a chain of waits. */
export interface Link {
  task: string | null;
  waits_for: string;
  detail: string | null;
  time_ns: number;
  /** `yes` or `perhaps`; null: it holds no lock. */
  holds_lock: string | null;
  /** It stopped the task, or froze its cgroup or file system. */
  stopped_it: boolean;
  kernel_stack: string[] | null;
  user_stack: UserFrame[] | null;
  /** Of a lock's holder: in its own `wait` with the lock, or at its `release`. */
  user_stack_at: string | null;
}

/** A function of a program, innermost first; a last null: its callers are unknown. */
export type UserFrame = null | {
  function: string | null;
  file: string | null;
  line: number | null;
  module: string | null;
  build_id: string | null;
  offset: number;
};

/** Requests of one process. */
export interface Submitter {
  task: string | null;
  cgroup: string | null;
  /** They are the stalled process's own. */
  own: boolean;
  requests: number;
  bytes: number;
}

/** Tasks that waited at the same time for one holder. */
export interface Convoy {
  cause: string;
  holder: string | null;
  start_ns: number;
  end_ns: number;
  /** How many times tasks waited together, and the most at one of these times. */
  times: number;
  at_once: number;
  victims: number;
  time_ns: number;
  longest_ns: number;
  longest: { task: string; time_ns: number }[];
}

/** Begin and end since the stall's start, ns, and index in the run's causes. */
export type Piece = [number, number, number];

/** What happened while an operation lasted. Where nothing is recorded, a lane has a gap. */
export interface Lanes {
  /** The operation's own task, then those of its chain. */
  tasks: { task: string; pieces: Piece[] }[];
  requests: { device: string; rwbs: string; bytes: number; sector: number; task: string | null; pieces: Piece[] }[];
  more_requests: number;
}

// generated: RequestColumns
export interface RequestColumns {
  /** its first moment, since the run's start, µs; the differences */
  begin: number[];
  /** inserted into the I/O scheduler, µs after `begin`; null: not seen */
  inserted: Numbers;
  /** issued to the device, µs after `begin`; null: not seen */
  issued: Numbers;
  /** completed, µs after `begin` */
  done: number[];
  /** completed bytes */
  bytes: number[];
  /** first sector */
  sector: number[];
  /** 1: throttled by its cgroup before it was queued */
  throttled: number[];
  /** device: index in `names` */
  device: number[];
  /** RWBS letters: index in `names` */
  kind: number[];
  /** submitter: index in `names` */
  task: number[];
  /** requests in flight when it came, by kind: index in `names` */
  before: number[];
  /** requests that overtook it, by kind: index in `names` */
  overtaken: number[];
}
// end of generated

export interface Requests extends RequestColumns {
  seen?: number;
  left_out?: number;
  names: string[];
}

export interface CauseTime {
  cause: string;
  time_ns: number;
  share: number;
  operations: number;
  evidence: Record<string, number>;
}

/** Sleeps of the recorded command that no operation holds. */
export interface Sleeps {
  count: number;
  total_ns: number;
  longest: {
    task: string;
    call: string | null;
    duration_ns: number;
    unfinished: boolean;
    cpu_quota: string | null;
    stack: string | null;
    waker: string | null;
    other_ends: { task: string; certain: boolean; state: string | null }[];
  }[];
}

export interface ClassTimes {
  operation: string;
  operations: number;
  wall_ns: number;
  causes: CauseTime[];
}

/** The operations of the recorded command. */
export interface CommandPart {
  operations: number;
  wall_ns: number;
  causes: CauseTime[];
  classes: ClassTimes[];
  culprits: Culprit[];
}

/** A line of the answer, and the values that it states. */
export interface AnswerLine {
  text: string;
}

/** The answer on one screen: crates/report has its words. */
export interface Answer {
  scope: string;
  verdict: string;
  cause: string | null;
  headline: AnswerLine;
  who: AnswerLine[];
  why: AnswerLine[];
  blocker: AnswerLine[];
  fix: { lines: AnswerLine[]; command: string | null; live: boolean; predicted: { line: AnswerLine } | null };
  sure: AnswerLine[];
  sure_first: boolean;
  /** The whole machine, where the answer is about a part of it. */
  machine: Answer | null;
}

/** A root blocker. */
export interface Culprit {
  task: string | null;
  /** Processes of that name. */
  tasks: number;
  cgroup: string | null;
  device: string | null;
  device_name: string | null;
  file_system: string | null;
  cause: string;
  time_ns: number;
  /** What it cost itself. */
  own_ns: number;
  /** Those that lost the most. */
  victims: { task: string; time_ns: number }[];
  /** Tasks that it held up at the same time, if they were a convoy. */
  at_once: number | null;
}

export interface Explanation {
  slower_than_ns: number;
  slow_operations: number;
  operations: number | null;
  wall_ns: number;
  causes: CauseTime[];
  classes: ClassTimes[];
  culprits: Culprit[];
  command: CommandPart | null;
  convoys: Convoy[];
  sleeps: Sleeps;
  losses: {
    lost: Record<string, number>;
    tables: { table: string; why: string }[];
    missing: { what: string; why: string | null; remedy: string | null }[];
  };
}

export interface Histogram {
  name: string;
  form: "rpc_stats" | "argdist";
  /** A value, or the lower bound of its power of two, and its count. */
  rows: [number, number][];
}

/** Results of a model; null for a run on a machine. */
export interface Simulated {
  figures?: { [name: string]: number | null };
  units?: { [name: string]: string };
  about?: { [name: string]: string };
  hang?: null | { at_ns: number; waiters: { task: string; awaits: string; from: string[]; since_ns: number }[] };
  histograms?: Histogram[];
}

export interface Summary {
  workload: string;
  simulated: Simulated | null;
  duration_s: number;
  warmup_s: number;
  ended: string | null;
  slower_than_ns: number;
  operations: Record<string, Record<string, number | null | string[]>>;
  rates: Record<string, Record<string, number>>;
  recording: Record<string, number | null>;
  missing: { capability: string; why: string | null; remedy: string | null }[];
}

/** What a root blocker cost a class of operations. */
export interface Blamed {
  cause: string;
  task: string | null;
  cgroup: string | null;
  /** The cgroup in a word. */
  place: string | null;
  device: string | null;
  file_system: string | null;
  time_ns: number;
}

/** A predicted figure with its interval. */
export interface Estimate {
  value: number;
  low: number;
  high: number;
}

/** What would help, the most helpful first. */
export interface WhatIf {
  recorded: { slow_operations: number; total_ns: number; p99_ns: number };
  choices: {
    title: string;
    at_most: boolean;
    predicted: { slow_operations: Estimate; total_ns: Estimate; p99_ns: Estimate };
    remedies: { id: string; title: string; live: boolean; risk: string }[];
  }[];
  assumptions: string[];
}

export interface Run {
  name: string;
  /** Its label, else the recorded command line, else its workload. */
  title: string;
  command: string[];
  host: string;
  badge: string | null;
  /** Whether nothing of the run is damaged, missing or was lost. */
  complete: boolean;
  damage: { file: string; table: string | null; rows: number | null; why: string }[];
  lost: { what: string; count: number | null; why: string | null }[];
  /** Sources that the answer would rest on. */
  untraced: {
    subject: string;
    words: string;
    why: string | null;
    remedy: string | null;
    unexplained_ns: number | null;
  }[];
  configuration: string | null;
  started_wall_ms: number;
  span_ms: number;
  interval_ms: number;
  limits: { memory_bytes: number | null; disk_bytes_per_s: number | null; disk_operations_per_s: number | null };
  summary: Summary;
  explanation: Explanation | null;
  /** Absent without a trace. */
  answer?: Answer;
  what_if?: WhatIf;
  /** Root blockers by class of operations; null without a trace. */
  blamed: Record<string, Blamed[]> | null;
  /** The same of the recorded command's operations, where these are a part of all. */
  blamed_of_command: Record<string, Blamed[]> | null;
  causes: [string, string][];
  marks: Mark[];
  axes: Record<string, Axis>;
  charts: Chart[];
  stalls: StallList | null;
  requests: Requests;
  live?: boolean;
}

export interface Compared {
  name: string;
  unit: string;
  a: number;
  b: number;
  ratio: number | null;
  ci95: [number | null, number | null] | null;
  verdict: string;
  need_runs: number | null;
}

export interface Comparison {
  a: { name: string; runs: number };
  b: { name: string; runs: number };
  differences: { what: string; a: string | null; b: string | null; intended: boolean }[];
  cautions: string[];
  metrics: Compared[];
  stalls: { cause: string; a_per_run: number; b_per_run: number; verdict: string; need_runs: number | null }[];
}

export interface Document {
  version: number;
  runs: Run[];
  comparisons: Comparison[];
}
