import { headlineOf, linesOf } from "./answer";
import { causeHatch } from "./causes";
import { element, table } from "./element";
import { bytes, count, duration, share, value } from "./format";
import { help } from "./help";
import { histograms } from "./histograms";
import type { Scope } from "./scope";
import type { CauseTime, Comparison, Culprit, Run } from "./types";

/** Causes shown individually; the chart shows the same number. */
const CAUSES = 8;
/** Sleeps outside of operations that are shown. */
const SLEEPS = 5;
/** Victims named of a root blocker. */
const DELAYED = 3;

export function words(run: Run, cause: string): string {
  return run.causes.find(([name]) => name === cause)?.[1] ?? cause;
}

/** The label or command line, and when and where it was recorded. */
function title(run: Run): HTMLElement {
  const ending: Record<string, string> = {
    done: "",
    interrupted: "interrupted",
    load_died: "the load died",
    load_failed: "the load failed",
    archive_full: "the archive's disk was full",
  };
  const end =
    run.summary.ended === null
      ? run.live === true
        ? "still running"
        : "ended without a clean shutdown"
      : (ending[run.summary.ended] ?? "");
  const limits = run.limits;
  const bounds = [
    limits.memory_bytes === null ? "" : `limited to ${bytes(limits.memory_bytes)} (memory cgroup)`,
    limits.disk_bytes_per_s === null ? "" : `disk throttled to ${bytes(limits.disk_bytes_per_s)}/s`,
    limits.disk_operations_per_s === null ? "" : `disk throttled to ${limits.disk_operations_per_s} IOPS`,
  ];
  const began =
    run.started_wall_ms > 0 ? new Date(run.started_wall_ms).toISOString().replace("T", " ").slice(0, 19) + " UTC" : "";
  const facts = [duration(run.summary.duration_s * 1e9), end, ...bounds];
  const meta = [...facts, began, run.host, run.name].filter((fact) => fact !== "").join(" · ");
  return element(
    "div",
    { class: "title" },
    element("h1", { title: run.title }, run.title),
    element("span", { class: "faint", title: meta }, meta),
  );
}

function operations(run: Run): HTMLElement | null {
  const classes = Object.entries(run.summary.operations).filter(([name]) => name !== "round");
  if (classes.length === 0) return null;
  const rows = classes.map(([name, figures]) => {
    const few = (figures.too_few_operations_for as string[] | undefined) ?? [];
    const ns = (key: string) =>
      typeof figures[key] === "number" ? duration(figures[key]) + (few.includes(key) ? "*" : "") : "–";
    const number = (key: string) => count((figures[key] as number | null) ?? 0);
    return [
      name,
      number("count"),
      ns("mean_ns"),
      ns("p50_ns"),
      ns("p99_ns"),
      ns("max_ns"),
      number("stuck"),
      number("errors"),
    ];
  });
  const starred = rows.some((row) => row.some((cell) => cell.endsWith("*")));
  return element(
    "section",
    {},
    element("h3", {}, "Operations"),
    table(["", "count", "mean", "p50", "p99", "max", "stuck", "errors"], rows),
    starred ? element("p", { class: "faint" }, "* too few samples for this percentile; run longer") : null,
  );
}

/** The figures of a simulated run, and its hang. */
function model(run: Run): HTMLElement | null {
  const found = run.summary.simulated;
  if (found?.figures === undefined) return null;
  const rows = Object.entries(found.figures).map(([name, amount]) => [
    element("span", { title: found.about?.[name] }, name.replace(/_/g, " ")),
    value(amount, found.units?.[name] ?? ""),
  ]);
  const from = (tasks: string[]) => (tasks.length === 0 ? "no task can release it" : `from ${tasks.join(", ")}`);
  const hang = found.hang ?? null;
  return element(
    "section",
    {},
    element("h3", {}, "Model figures"),
    table(["", ""], rows),
    hang === null
      ? null
      : element("p", { class: "note" }, `HANG: no progress is possible after ${duration(hang.at_ns)}.`),
    hang === null
      ? null
      : element(
          "ul",
          {},
          ...hang.waiters.map((one) =>
            element(
              "li",
              {},
              `${one.task} has waited since ${duration(one.since_ns)} for ${one.awaits}; ${from(one.from)}`,
            ),
          ),
        ),
  );
}

function rates(run: Run): HTMLElement | null {
  const all = Object.entries(run.summary.rates);
  if (all.length === 0) return null;
  const rows = all.map(([name, rate]) => {
    const unit = name.startsWith("bytes") ? "bytes/s" : "/s";
    return [
      name.replace(/_per_s$/, "").replace(/_/g, " "),
      ...["mean", "p50", "p99", "max"].map((key) => value(rate[key], unit)),
    ];
  });
  return element("section", {}, element("h3", {}, "Rates"), table(["", "mean", "p50", "p99", "max"], rows));
}

/** Causes as labelled bars: colour carries no information of its own. */
function causes(run: Run, scope: Scope | null): HTMLElement | null {
  const head = element("h3", {}, "Where the time went");
  if (scope === null) {
    return element(
      "section",
      {},
      head,
      element("p", { class: "note" }, "Unknown: the run has no kernel trace. Record as root, without --no-trace."),
    );
  }
  if (scope.causes.length === 0) return null;
  const shown = scope.causes.slice(0, CAUSES);
  const others = scope.causes.slice(CAUSES);
  const rows: (HTMLElement | string)[][] = shown.map((cause) => {
    const bar = element("canvas", { class: "bar", width: "120", height: "12", "aria-hidden": "true" });
    const pen = bar.getContext("2d");
    if (pen !== null) {
      pen.fillStyle = causeHatch(cause.cause);
      pen.fillRect(0, 0, Math.max(cause.share * 120, 1), 12);
    }
    return [
      words(run, cause.cause),
      bar as HTMLElement,
      share(cause.share),
      duration(cause.time_ns),
      count(cause.operations),
    ];
  });
  const sum = (of: (cause: CauseTime) => number) => others.reduce((all, cause) => all + of(cause), 0);
  if (others.length > 0)
    rows.push([`${others.length} others`, "", share(sum((one) => one.share)), duration(sum((one) => one.time_ns)), ""]);
  return element("section", {}, head, table(["", "", "share", "time", "operations"], rows));
}

/** Root blockers, a line each. */
function culprits(run: Run, scope: Scope | null): HTMLElement | null {
  const worst = (scope?.culprits ?? []).slice(0, 5);
  if (worst.length === 0) return null;
  const lines = worst.map((one) =>
    element(
      "li",
      { title: `${one.cgroup ?? ""} ${one.file_system ?? ""}`.trim() },
      `${duration(one.time_ns)} `,
      element("strong", {}, blocker(one)),
      `: ${words(run, one.cause)}${delayed(one)}`,
    ),
  );
  return element("section", {}, element("h3", {}, "Root blockers"), element("ul", { class: "blockers" }, ...lines));
}

function blocker(one: Culprit): string {
  const task = one.tasks > 1 ? `${count(one.tasks)} ${(one.task ?? "").replace(/\/\d+$/, "")} tasks` : one.task;
  const disk = one.device === null ? "" : ` on ${one.device_name ?? one.device}`;
  return task === null ? (disk === "" ? "unknown" : disk.trim()) : `${task}${disk}`;
}

/** Whose time a root blocker cost: by name, those that lost the most first. */
function delayed(one: Culprit): string {
  if (one.task === null || one.victims.length === 0) return "";
  if (one.own_ns === one.time_ns) return ", of itself";
  const others = one.victims.filter((victim) => one.tasks > 1 || victim.task !== one.task);
  const names = [...new Set(others.map((victim) => victim.task.replace(/\/\d+$/, "")))].slice(0, DELAYED);
  return `; delayed ${names.join(", ")}${one.at_once === null ? "" : ` (${count(one.at_once)} tasks at once)`}`;
}

/** Without these, a command that only slept would seem fine. */
function sleeps(run: Run): HTMLElement | null {
  const found = run.explanation?.sleeps;
  if (found === undefined || found.count === 0) return null;
  const rows = found.longest.slice(0, SLEEPS).map((one) => {
    const ends = (one.other_ends ?? []).map(
      (end) =>
        `${end.certain ? "" : "perhaps "}for ${end.task}${end.state === "stopped" || end.state === "frozen" ? `, which is ${end.state}` : ""}`,
    );
    const quota =
      one.cpu_quota === null
        ? ""
        : `held by the CPU quota of its cgroup${one.cpu_quota === "" ? "" : ` (${one.cpu_quota})`}`;
    const waker = one.waker === null ? "" : `woken by ${one.waker}`;
    return [
      one.call ?? "outside of a system call",
      one.task,
      `${one.unfinished ? "at least " : ""}${duration(one.duration_ns)}`,
      [quota || (one.stack ?? ""), waker, ...ends].filter((part) => part !== "").join(", "),
    ];
  });
  const more = found.count > rows.length ? `${count(found.count)} sleeps, ${duration(found.total_ns)} together.` : "";
  return element(
    "section",
    {},
    element("h3", {}, "Sleeps outside of operations"),
    table(["call", "task", "time", ""], rows, "wide"),
    more === "" ? null : element("p", { class: "faint" }, more),
  );
}

/** Losses of the recording: a reader of the charts must see them. */
function losses(run: Run): HTMLElement | null {
  const found = run.explanation?.losses;
  const lines: string[] = [];
  for (const [what, number] of Object.entries(found?.lost ?? {})) lines.push(`${count(number)} ${what} lost`);
  for (const { table, why } of found?.tables ?? []) lines.push(`table ${table} dropped: ${why}`);
  const { late_samples: late, missing_samples: missing } = run.summary.recording;
  if ((missing ?? 0) > 0) lines.push(`${count(missing ?? 0)} samples were not taken`);
  if ((late ?? 0) > 0) lines.push(`${count(late ?? 0)} samples were late`);
  for (const one of run.summary.missing)
    lines.push(`${one.capability}: unavailable${one.why === null ? "" : `: ${one.why}`}`);
  // What is damaged comes first on the page.
  if (lines.length === 0 && run.complete === false) return null;
  if (lines.length === 0) return element("p", { class: "faint" }, "No data was lost.");
  return element(
    "details",
    {},
    element("summary", {}, `Missing or lost data: ${lines.length}`),
    element("ul", {}, ...lines.map((one) => element("li", {}, one))),
  );
}

/** What the run lacks, damaged or lost by its recording: above all figures. */
function incomplete(run: Run): HTMLElement | null {
  if (run.complete !== false) return null;
  const ofDamage = (one: Run["damage"][number]) =>
    `${one.file}: ` +
    `${one.table !== null && one.rows !== null ? `${count(one.rows)} rows of ${one.table}: ` : ""}${one.why}`;
  const ofLoss = (one: Run["lost"][number]) =>
    `${one.count === null ? `${one.what} abandoned` : `${count(one.count)} ${one.what} lost`}` +
    `${one.why === null ? "" : `: ${one.why}`}`;
  const ofUntraced = ({ words, why, remedy }: Run["untraced"][number]) =>
    [words, ...[why, remedy].filter((one) => one !== null)].join("; ");
  const list = (title: string, lines: string[]) =>
    lines.length === 0
      ? []
      : [
          element("p", {}, `INCOMPLETE: ${title}`),
          element("ul", {}, ...lines.slice(0, 20).map((line) => element("li", {}, line))),
        ];
  const parts = `${run.damage.length} part${run.damage.length === 1 ? "" : "s"}`;
  return element(
    "div",
    { class: "incomplete", role: "alert" },
    ...list(`${parts} of this run damaged or missing; the figures lack what was lost.`, run.damage.map(ofDamage)),
    ...list("the recording lost data; the figures lack it.", run.lost.map(ofLoss)),
    ...list("not all that the answer would rest on was traced.", run.untraced.map(ofUntraced)),
  );
}

/** The first screen: title, headline, the answer beside what would help, and `pictures`, before all tables. */
export function overview(
  run: Run,
  letter: string,
  scope: Scope | null,
  switches: HTMLElement | null,
  pictures: HTMLElement | null,
): HTMLElement {
  const heading = title(run);
  if (letter !== "") heading.querySelector("h1")?.prepend(element("span", { class: "letter" }, letter), " ");
  if (switches !== null) heading.append(switches);
  const answer = scope?.answer ?? null;
  const lines = answer === null ? null : linesOf(answer);
  // What would help is predicted for the operations of the answer alone.
  const helps = answer !== null && answer.fix.predicted === null ? null : help(run);
  return element(
    "div",
    { class: "overview" },
    incomplete(run),
    heading,
    run.badge === null ? null : element("p", { class: "badge" }, run.badge),
    answer === null ? null : headlineOf(answer),
    element("div", { class: helps === null ? "" : "answered" }, lines, helps),
    pictures,
    element("div", { class: "columns" }, culprits(run, scope), causes(run, scope)),
  );
}

/** Figures of the load, and what the recording lacks. */
export function figures(run: Run): HTMLElement {
  return element(
    "div",
    {},
    element(
      "div",
      { class: "columns" },
      model(run),
      operations(run),
      rates(run),
      histograms(run.summary.simulated?.histograms ?? []),
    ),
    sleeps(run),
    losses(run),
  );
}

const VERDICTS: Record<string, string> = {
  better: "▲ better",
  worse: "▼ worse",
  different: "◆ different",
  equivalent: "= equivalent",
  unfinished: "… unfinished",
  not_enough_data: "? not enough data",
};

function verdict(name: string, needed: number | null): HTMLElement {
  const more = needed === null ? "" : `; ${needed} more runs per side`;
  return element("span", { class: `verdict ${name}` }, (VERDICTS[name] ?? name) + more);
}

export function comparison(found: Comparison, run: Run): HTMLElement {
  const percent = (ratio: number | null) => {
    if (ratio === null) return "–";
    const by = share(Math.abs(ratio - 1));
    return by.startsWith("<") || ratio === 1 ? by : `${ratio > 1 ? "+" : "−"}${by}`;
  };
  const interval = (ci: Comparison["metrics"][0]["ci95"]) =>
    ci === null ? "–" : `${percent(ci[0])} … ${percent(ci[1])}`;
  const metrics = found.metrics.map((one) => [
    one.name,
    value(one.a, one.unit),
    value(one.b, one.unit),
    percent(one.ratio),
    verdict(one.verdict, one.need_runs),
    interval(one.ci95),
  ]);
  const seen = found.stalls.filter((one) => one.a_per_run > 0 || one.b_per_run > 0);
  const stalls = seen.map((one) => [
    words(run, one.cause),
    count(one.a_per_run),
    count(one.b_per_run),
    verdict(one.verdict, one.need_runs),
  ]);
  const differ = found.differences.map((one) => element("li", {}, `${one.what}: ${one.a ?? "–"} → ${one.b ?? "–"}`));
  const cautions = found.cautions.map((one) => element("li", {}, one));
  const runs = (side: { name: string; runs: number }) =>
    `${side.name} (${side.runs} ${side.runs === 1 ? "run" : "runs"})`;
  return element(
    "section",
    { class: "comparison" },
    element("h2", {}, `${runs(found.b)} vs ${runs(found.a)}`),
    differ.length > 0
      ? element(
          "details",
          { open: differ.length < 6 },
          element("summary", {}, `Differences: ${differ.length}`),
          element("ul", {}, ...differ),
        )
      : null,
    element(
      "div",
      { class: "columns" },
      element("div", {}, element("h3", {}, "Figures"), table(["", "A", "B", "change", "verdict", "95 % CI"], metrics)),
      stalls.length > 0
        ? element("div", {}, element("h3", {}, "Stalls per run, by cause"), table(["", "A", "B", "verdict"], stalls))
        : null,
    ),
    cautions.length > 0
      ? element("details", {}, element("summary", {}, `Cautions: ${cautions.length}`), element("ul", {}, ...cautions))
      : null,
  );
}
