import type { Answer, Blamed, CauseTime, ClassTimes, Culprit, Run } from "./types";

/** Whose operations the first screen is about. */
export interface Scope {
  name: string;
  answer: Answer | null;
  /** The chart of their time by cause. */
  chart: string;
  operations: number;
  wall_ns: number;
  causes: CauseTime[];
  classes: ClassTimes[];
  culprits: Culprit[];
  blamed: Record<string, Blamed[]>;
  /** Whether operations of other programs are left out. */
  own: boolean;
}

const NAMES: Record<string, string> = {
  command: "command",
  load: "load",
  selection: "selection",
  machine: "whole machine",
};
const ALL = "causes";
/** The chart of the recorded command's time by cause. */
export const OF_COMMAND = "causes.command";

/** The charts of time by cause: the first screen has one of them. */
export function isOfCauses(chart: string): boolean {
  return chart === ALL || chart === OF_COMMAND;
}

/** What the answer is about, and the whole machine where that is more. Empty without a trace. */
export function scopesOf(run: Run): Scope[] {
  const found = run.explanation;
  if (found === null) return [];
  const whole: Scope = {
    name: NAMES[run.answer?.machine === null ? run.answer.scope : "machine"] ?? NAMES.machine,
    answer: run.answer?.machine ?? run.answer ?? null,
    chart: ALL,
    operations: found.slow_operations,
    wall_ns: found.wall_ns,
    causes: found.causes,
    classes: found.classes,
    culprits: found.culprits,
    blamed: run.blamed ?? {},
    own: false,
  };
  const { command } = found;
  if (run.answer === undefined || run.answer.machine === null) return [whole];
  const has = run.charts.some((chart) => chart.id === OF_COMMAND && chart.kind !== "absent");
  const part: Scope = {
    ...whole,
    name: run.answer.scope === "machine" ? "hang" : (NAMES[run.answer.scope] ?? run.answer.scope),
    answer: run.answer,
    chart: has ? OF_COMMAND : ALL,
    own: run.answer.scope !== "machine" && run.stalls !== null && run.stalls.own.includes(1),
    ...(command === null ? {} : command),
    blamed: run.blamed_of_command ?? run.blamed ?? {},
  };
  return [part, whole];
}
