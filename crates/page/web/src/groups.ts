import { element } from "./element";
import { count, duration } from "./format";
import { words } from "./overview";
import type { Source } from "./source";
import type { Document, Run } from "./types";

/** Runs of one configuration: their numbers in the document. */
export interface Group {
  name: string;
  runs: number[];
}

/** Configurations in the order of their first runs. A run without one stands alone. */
export function groupsOf(runs: Run[]): Group[] {
  const groups: Group[] = [];
  runs.forEach((run, number) => {
    const known = groups.find((group) => run.configuration !== null && group.name === run.configuration);
    if (known === undefined) groups.push({ name: run.configuration ?? run.name, runs: [number] });
    else known.runs.push(number);
  });
  return groups;
}

/** Whether one run stands for each configuration: two runs are shown side by side in any case. */
export function isGrouped(runs: Run[]): boolean {
  return runs.length > 2 && groupsOf(runs).length < runs.length;
}

function lost(run: Run): number {
  return run.explanation?.wall_ns ?? 0;
}

/** Of each configuration the run with the median of lost time. */
export function typical(runs: Run[]): number[] {
  return groupsOf(runs).map(
    (group) => [...group.runs].sort((a, b) => lost(runs[a]) - lost(runs[b]))[Math.floor((group.runs.length - 1) / 2)],
  );
}

/** The document with only these runs. */
export function only(data: Document, shown: number[]): Document {
  return { ...data, runs: shown.map((run) => data.runs[run]) };
}

/** A source that numbers only these runs. */
export function sourceOf(source: Source, shown: number[]): Source {
  return {
    served: source.served,
    document: () => source.document(),
    stall: (run, number) => source.stall(shown[run], number),
    requests: (run, from, to, find) => source.requests(shown[run], from, to, find),
    metrics: (run) => source.metrics(shown[run]),
    series: (run, metric) => source.series(shown[run], metric),
    state: () => source.state(),
  };
}

/** The configurations with their runs; `choose` shows another run of one. */
export function groupTables(runs: Run[], shown: number[], choose: (shown: number[]) => void): HTMLElement {
  const groups = groupsOf(runs);
  const tables = groups.map((group, at) => {
    const rows = group.runs.map((number) =>
      line(runs[number], shown[at] === number, `configuration-${at}`, () =>
        choose(shown.map((one, place) => (place === at ? number : one))),
      ),
    );
    const letter = groups.length > 1 ? element("span", { class: "letter" }, String.fromCharCode(65 + (at % 26))) : null;
    const head = ["run", "slow operations", "lost", "longest", "main cause"].map((word, column) =>
      element("th", { scope: "col", class: column > 0 ? "n" : "" }, word),
    );
    return element(
      "section",
      {},
      element(
        "h3",
        {},
        letter,
        ` ${group.name}: ${count(group.runs.length)} ${group.runs.length === 1 ? "run" : "runs"}`,
      ),
      element(
        "div",
        { class: "scroll" },
        element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows)),
      ),
    );
  });
  return element(
    "div",
    { class: "groups" },
    element(
      "h2",
      {},
      `${count(runs.length)} runs of ${count(groups.length)} ${groups.length === 1 ? "configuration" : "configurations"}`,
    ),
    element(
      "p",
      { class: "faint" },
      "The selected run of each configuration is shown below: at first the one with the median of lost time.",
    ),
    element("div", { class: "columns" }, ...tables),
  );
}

function line(run: Run, isShown: boolean, name: string, choose: () => void): HTMLElement {
  const found = run.explanation;
  const main = found?.causes.find((one) => one.cause !== "running" && one.cause !== "unexplained");
  const longest = run.stalls?.duration.reduce((most, us) => Math.max(most, us), 0);
  const pick = element("input", { type: "radio", name, checked: isShown });
  pick.addEventListener("change", choose);
  const cells = [
    found === null ? "–" : count(found.slow_operations),
    found === null ? "–" : duration(found.wall_ns),
    longest === undefined ? "–" : duration(longest * 1000),
    main === undefined ? "–" : words(run, main.cause),
  ];
  return element(
    "tr",
    {},
    element("td", {}, element("label", {}, pick, ` ${run.name}`)),
    ...cells.map((cell) => element("td", { class: "n" }, cell)),
  );
}
