import { causeColour } from "./causes";
import { element, printable } from "./element";
import { duration, share } from "./format";
import { words } from "./overview";
import type { Scope } from "./scope";
import type { Run } from "./types";

/** Nodes of a column; the smaller ones share one. */
const MOST = 7;
const OTHERS = "others";
const WIDTH = 640;
const BAR = 10;
/** Height of a node's label. */
const LABEL = 15;
const SVG = "http://www.w3.org/2000/svg";
const COLUMNS = ["operations", "waited for", "held up by", "on"];

interface Node {
  name: string;
  /** What a click searches the list of slow operations for; null: nothing. */
  find: string | null;
  ns: number;
  top: number;
  height: number;
  /** Height that links take already, by side. */
  left: number;
  right: number;
}

interface Link {
  column: number;
  from: string;
  to: string;
  cause: string;
  ns: number;
}

/** One path of lost time: operation, cause, culprit, device; from left to right as far as it is known. */
interface Flow {
  names: string[];
  cause: string;
  ns: number;
}

/** Flows of the explanation: for each class of operations, the root blockers of each cause. What no root blocker is
 * known for ends at the cause. */
function flows(run: Run, found: Scope): Flow[] {
  return found.classes.flatMap((of) =>
    of.causes.flatMap(({ cause, time_ns: ns }) => {
      const start = [of.operation, words(run, cause)];
      const known = (found.blamed[of.operation] ?? [])
        .filter((one) => one.cause === cause)
        .map((one) => {
          const on =
            one.device === null ? [] : [`${one.device}${one.file_system === null ? "" : ` ${one.file_system}`}`];
          return { names: [...start, one.task ?? one.place ?? "unknown", ...on], cause, ns: one.time_ns };
        });
      const rest = ns - known.reduce((sum, one) => sum + one.ns, 0);
      return [...known, { names: start, cause, ns: Math.max(rest, 0) }].filter((one) => one.ns > 0);
    }),
  );
}

/** The largest nodes of each column keep their names. */
function shortened(all: Flow[]): Flow[] {
  const kept = COLUMNS.map((_, column) => {
    const sums = new Map<string, number>();
    for (const flow of all)
      if (flow.names[column] !== undefined) sums.set(flow.names[column], (sums.get(flow.names[column]) ?? 0) + flow.ns);
    const order = [...sums].sort((a, b) => b[1] - a[1]).map(([name]) => name);
    return new Set(order.length > MOST ? order.slice(0, MOST - 1) : order);
  });
  return all.map((flow) => ({
    ...flow,
    names: flow.names.map((name, column) => (kept[column].has(name) ? name : OTHERS)),
  }));
}

function layout(run: Run, all: Flow[], height: number): { columns: Map<string, Node>[]; links: Link[] } {
  const columns = COLUMNS.map(() => new Map<string, Node>());
  const links = new Map<string, Link>();
  const caused = new Set(run.causes.map(([, words]) => words));
  for (const flow of all) {
    flow.names.forEach((name, column) => {
      const find = name === OTHERS ? null : column === 0 || caused.has(name) ? name : words(run, flow.cause);
      const node = columns[column].get(name) ?? { name, find, ns: 0, top: 0, height: 0, left: 0, right: 0 };
      node.ns += flow.ns;
      columns[column].set(name, node);
      if (column === 0) return;
      const key = JSON.stringify([column, flow.names[column - 1], name, flow.cause]);
      const link = links.get(key) ?? { column, from: flow.names[column - 1], to: name, cause: flow.cause, ns: 0 };
      link.ns += flow.ns;
      links.set(key, link);
    });
  }
  const total = Math.max(
    all.reduce((sum, flow) => sum + flow.ns, 0),
    1,
  );
  const room = height - LABEL * MOST;
  columns.forEach((column, at) => {
    const sorted = new Map(
      [...column].sort(([, a], [, b]) => Number(a.name === OTHERS) - Number(b.name === OTHERS) || b.ns - a.ns),
    );
    let top = LABEL;
    for (const node of sorted.values()) {
      [node.top, node.height] = [top, Math.max((node.ns / total) * room, 1.5)];
      top += node.height + LABEL;
    }
    columns[at] = sorted;
  });
  const place = (link: Link) => [...columns[link.column].keys()].indexOf(link.to);
  return { columns, links: [...links.values()].sort((a, b) => place(a) - place(b) || b.ns - a.ns) };
}

/** A label of that many letters at most: without the mount point, then without the end of the name. */
function shorten(name: string, ns: number, most: number): string {
  const time = duration(ns);
  const room = most - time.length - 1;
  const brief = name.length > room ? name.replace(/ on .*/, "") : name;
  return `${brief.length > room ? `${brief.slice(0, room - 1)}…` : brief} ${time}`;
}

function drawn(
  name: string,
  attributes: Record<string, string | number>,
  ...children: (SVGElement | string)[]
): SVGElement {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

/** The wait graph of a run: as wide as the time lost. `find` filters the list of slow operations. */
export function waitGraph(run: Run, found: Scope, find: (text: string) => void): HTMLElement | null {
  if (found.wall_ns === 0 || found.classes.length === 0) return null;
  const height = 280;
  const { columns, links } = layout(run, shortened(flows(run, found)), height);
  const used = columns.filter((column) => column.size > 0).length;
  const x = (column: number) => (column * (WIDTH - BAR)) / Math.max(used - 1, 1);
  const total = found.wall_ns;
  const ribbons = links.map((link) => {
    const [from, to] = [columns[link.column - 1].get(link.from)!, columns[link.column].get(link.to)!];
    const [thick, thin] = [from.height * (link.ns / from.ns), to.height * (link.ns / to.ns)];
    const [y, z] = [from.top + from.right + thick / 2, to.top + to.left + thin / 2];
    from.right += thick;
    to.left += thin;
    const [start, end] = [x(link.column - 1) + BAR, x(link.column)];
    const bend = (start + end) / 2;
    const text = `${link.from} → ${link.to}: ${words(run, link.cause)}, ${duration(link.ns)}, ${share(link.ns / total)}`;
    return drawn(
      "path",
      {
        d: `M${start},${y} C${bend},${y} ${bend},${z} ${end},${z}`,
        stroke: causeColour(link.cause),
        "stroke-width": Math.max(thick, 1),
        fill: "none",
        opacity: 0.4,
      },
      drawn("title", {}, printable(text)),
    );
  });
  const nodes = columns.slice(0, used).flatMap((column, at) =>
    [...column.values()].map((node) => {
      const last = at === used - 1 && used > 1;
      const cause = at === 1 ? run.causes.find(([, words]) => words === node.name)?.[0] : undefined;
      const label = `${node.name} ${duration(node.ns)}`;
      // Labels of the last two columns share a column's width.
      const short = shorten(node.name, node.ns, at < used - 2 || used < 3 ? 32 : used === 3 ? 24 : 17);
      const group = drawn(
        "g",
        node.find === null
          ? {}
          : { class: "findable", tabindex: 0, role: "button", "aria-label": `${label}: list them` },
        drawn("rect", {
          x: x(at),
          y: node.top,
          width: BAR,
          height: node.height,
          fill: cause === undefined ? "var(--faint)" : causeColour(cause),
        }),
        drawn(
          "text",
          { x: last ? WIDTH : x(at), y: node.top - 3, "text-anchor": last ? "end" : "start" },
          printable(short),
        ),
        drawn("title", {}, printable(`${label}, ${share(node.ns / total)}`)),
      );
      const act = () => node.find !== null && find(node.find);
      group.addEventListener("click", act);
      group.addEventListener("keydown", (event) => {
        if ((event as KeyboardEvent).key === "Enter") act();
      });
      return group;
    }),
  );
  const bottom = Math.max(...columns.flatMap((column) => [...column.values()].map((node) => node.top + node.height)));
  const picture = drawn(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${Math.ceil(bottom + 4)}`, role: "group", "aria-label": "wait graph" },
    ...ribbons,
    ...nodes,
  );
  return element(
    "figure",
    { class: "waits" },
    element("figcaption", {}, `Lost time: ${COLUMNS.slice(0, used).join(" → ")}`),
    picture as unknown as HTMLElement,
  );
}
