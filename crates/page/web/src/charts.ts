import uPlot from "uplot";
import { causeColour, causeHatch } from "./causes";
import { element, printable } from "./element";
import { digitsFor, duration, moment, value } from "./format";
import { OF_COMMAND } from "./scope";
import { DASHES, colour, css, shade } from "./theme";
import type { TimeAxis } from "./time";
import type { Chart, Heat, Lines, Mark, Numbers, Run } from "./types";

/** One run's part of a chart. */
export interface Part {
  run: number;
  name: string;
  data: Run;
  chart: Lines | Heat;
  /** Seconds between the run's start and the zero of the time axis. */
  zero: number;
}

const HEIGHT = 190;
/** Operations that the chart of causes marks. */
const LONGEST = 6;
/** Steps of an axis of bytes. */
const BINARY = Array.from({ length: 50 }, (_, power) => 2 ** power);

/** The smallest latency of a heat map's row: the rule of crates/page. */
export function low(row: number): number {
  return (4 + (row % 4)) * 2 ** (Math.floor(row / 4) - 2);
}

function rowOf(ns: number): number {
  const log = Math.floor(Math.log2(Math.max(ns, 4)));
  return log * 4 + (Math.floor(ns / 2 ** (log - 2)) & 3);
}

export function seconds(part: Part, axis: string): number[] {
  let at = 0;
  return part.data.axes[axis].t.map((delta) => (at += delta) / 1000 - part.zero);
}

function base(time: TimeAxis, parts: Part[], unit: string, width: number): uPlot.Options {
  const faint = css("--faint");
  const line = { stroke: css("--line"), width: 1 };
  const font = "11px system-ui, sans-serif";
  return {
    width,
    height: HEIGHT,
    scales: { x: { time: false, min: time.from, max: time.to, range: (_, min, max) => [min, max] } },
    axes: [
      {
        stroke: faint,
        grid: line,
        ticks: line,
        font,
        size: 30,
        values: (_, at, __, ___, step) => at.map((t) => moment(t, digitsFor(step))),
      },
      {
        stroke: faint,
        grid: line,
        ticks: line,
        font,
        size: 74,
        ...(unit.startsWith("bytes") ? { incrs: BINARY } : {}),
        values: (_, at) => at.map((v) => (v === null ? "" : value(v, unit))),
      },
    ],
    series: [{ label: "time", value: (_, at) => (at === null ? "" : moment(at, time.digits())) }],
    legend: { live: true, isolate: true, markers: { width: 3, dash: (u, at) => dashWord(u.series[at].dash) } },
    cursor: {
      drag: { x: true, y: false, setScale: false },
      points: { size: 6 },
      hover: { prox: reach, skip: [undefined] },
      sync: { key: "time", filters: { pub: (type: string) => type === "mousemove" || type === "mouseleave" } },
    } as uPlot.Cursor,
    hooks: {
      setCursor: [
        (u) => {
          const left = u.cursor.left ?? -1;
          time.moved(left < 0 ? null : u.posToVal(left, "x"));
        },
      ],
      setSelect: [
        (u) => {
          if (u.select.width < 4) return;
          const [from, to] = [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")];
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          time.zoom(from, to);
        },
      ],
      draw: [(u) => parts.forEach((part) => drawMarks(u, part, time))],
      ready: [(u) => u.over.addEventListener("dblclick", () => time.reset())],
    },
  };
}

/** A value in a legend: nothing where the cursor is not on the chart. */
function inLegend(v: number | null | undefined, unit: string): string {
  return v === null || v === undefined ? "" : value(v, unit);
}

/** The width of a time in pixels. */
function pixels(u: uPlot, seconds: number): number {
  return u.valToPos(seconds, "x") - u.valToPos(0, "x");
}

/** How far from the cursor, in pixels, a line's value holds: the distance of its points. Gaps have no value. */
function reach(u: uPlot, series: number, nearest: number): number {
  const [times, values] = [u.data[0], u.data[series]];
  const there = (from: number, step: number) => {
    let at = from;
    while (at >= 0 && at < values.length && values[at] === undefined) at += step;
    return at >= 0 && at < values.length ? at : null;
  };
  const gap = (one: number | null, other: number | null) =>
    one === null || other === null ? Infinity : times[other] - times[one];
  const at = there(nearest, -1) ?? there(nearest, 1);
  if (at === null) return 0;
  const apart = Math.min(gap(there(at - 1, -1), at), gap(at, there(at + 1, 1)));
  return Number.isFinite(apart) ? Math.max(pixels(u, apart) * 1.01, 1) : 10;
}

/** The CSS border style closest to a dash pattern. */
function dashWord(dash: number[] | undefined): string {
  if (dash === undefined || dash.length === 0) return "solid";
  return dash[0] < 4 ? "dotted" : dash.length > 2 ? "double" : "dashed";
}

function drawMarks(u: uPlot, part: Part, time: TimeAxis): void {
  const pen = u.ctx;
  const { left, top, width, height } = u.bbox;
  const x = (ms: number) => u.valToPos(ms / 1000 - part.zero, "x", true);
  pen.save();
  pen.beginPath();
  pen.rect(left, top, width, height);
  pen.clip();
  const dot = devicePixelRatio;
  pen.textAlign = "left";
  pen.font = `${10 * dot}px system-ui, sans-serif`;
  let written = -Infinity;
  for (const mark of part.data.marks) {
    const from = x(mark.from);
    const to = x(mark.to ?? mark.from);
    if (mark.kind === "phase") {
      upright(pen, from, top, height, css("--faint"), [4, 4]);
      pen.fillStyle = css("--faint");
      const text = printable(mark.text).slice(0, 40);
      const begin = Math.max(from, left) + 4 * dot;
      const end = begin + pen.measureText(text).width;
      // Write a name only where it fits without overlap.
      if (end < (mark.to === null ? left + width : Math.max(to, left)) + 2 * dot && begin > written) {
        pen.fillText(text, begin, top + 14 * dot);
        written = end;
      }
    } else if (mark.kind === "stuck") {
      pen.fillStyle = css("--bad");
      pen.fillRect(from, top, Math.max(to - from, 2), 4 * dot);
    } else {
      const ink = mark.kind === "note" ? css("--faint") : css("--bad");
      upright(pen, from, top, height, ink, mark.kind === "clock" ? [2, 2] : []);
      pen.fillStyle = ink;
      pen.fillText({ clock: "clock", loss: "lost", note: "note" }[mark.kind], from + 3 * dot, top + height - 4 * dot);
      if (mark.to !== null) {
        pen.globalAlpha = 0.2;
        pen.fillRect(from, top, Math.max(to - from, 2), height);
        pen.globalAlpha = 1;
      }
    }
  }
  const chosen = time.chosen;
  if (chosen !== null && chosen.run === part.run) {
    const [from, to] = [u.valToPos(chosen.from, "x", true), u.valToPos(chosen.to, "x", true)];
    pen.fillStyle = css("--chosen");
    pen.fillRect(from, top, Math.max(to - from, 2 * dot), height);
  }
  pen.restore();
}

function upright(
  pen: CanvasRenderingContext2D,
  x: number,
  top: number,
  height: number,
  ink: string,
  dash: number[],
): void {
  pen.strokeStyle = ink;
  pen.lineWidth = 1;
  pen.setLineDash(dash);
  pen.beginPath();
  pen.moveTo(x, top);
  pen.lineTo(x, top + height);
  pen.stroke();
  pen.setLineDash([]);
}

/** Lines of one run, or of several overlaid. */
function drawLines(time: TimeAxis, parts: Part[], place: HTMLElement, width: number, highest: number | null): uPlot {
  const first = parts[0].chart as Lines;
  const options = base(time, parts, first.unit, width);
  const log = first.log === true;
  options.scales!.y = log
    ? { distr: 3, range: (_, min, max) => uPlot.rangeLog(Math.max(min ?? 1, 1), Math.max(max ?? 10, 10), 10, true) }
    : { range: (_, __, max) => [0, (highest ?? max ?? 1) * 1.06 || 1] };
  if (log)
    options.axes![1].filter = (_, splits) => splits.map((v) => (v !== null && Math.log10(v) % 1 === 0 ? v : null));
  options.series[0].label = parts.length > 1 ? "time since the measurement began" : "time";
  const tables: uPlot.AlignedData[] = [];
  parts.forEach((part, which) => {
    const chart = part.chart as Lines;
    const columns: (number[] | Numbers)[] = [seconds(part, chart.axis)];
    chart.series.forEach((line, at) => {
      columns.push(line.v);
      const paint = colour(at);
      const label = parts.length > 1 ? `${part.name} ${line.name}` : line.name;
      const dash = parts.length > 1 ? DASHES[which % DASHES.length] : DASHES[at % DASHES.length];
      options.series.push({
        label: printable(label),
        stroke: paint,
        width: 1.6,
        dash,
        spanGaps: parts.length > 1,
        points: { show: false },
        value: (_, v) => inLegend(v, chart.unit),
      });
      if (line.lo !== undefined && line.hi !== undefined) {
        for (const [edge, name] of [
          [line.lo, "lowest"],
          [line.hi, "highest"],
        ] as const) {
          columns.push(edge);
          options.series.push({
            label: printable(`${label}, ${name}`),
            stroke: paint,
            width: 0.5,
            alpha: 0.5,
            points: { show: false },
            spanGaps: parts.length > 1,
            value: (_, v) => inLegend(v, chart.unit),
          });
        }
      }
    });
    tables.push(columns as uPlot.AlignedData);
  });
  return new uPlot(options, tables.length > 1 ? uPlot.join(tables) : tables[0], place);
}

/** Stacked areas of causes. Each is drawn down to zero, the highest first, so that lower areas cover it. */
function drawStack(time: TimeAxis, part: Part, place: HTMLElement, width: number, highest: number | null): uPlot {
  const chart = part.chart as Lines;
  const options = base(time, [part], chart.unit, width);
  options.scales!.y = { range: (_, __, max) => [0, (highest ?? max ?? 1) * 1.06 || 1] };
  // A step is drawn back to the one before: the first begins with the run.
  const values = chart.series.map((line) => [line.v[0] ?? null, ...line.v]);
  const sums: number[][] = [];
  values.forEach((line, at) => sums.push(line.map((v, step) => (v ?? 0) + (at > 0 ? sums[at - 1][step] : 0))));
  const columns: (number[] | Numbers)[] = [[-part.zero, ...seconds(part, chart.axis)]];
  for (let at = chart.series.length - 1; at >= 0; at--) {
    const line = chart.series[at];
    columns.push(sums[at]);
    const words = part.data.causes.find(([name]) => name === line.name)?.[1] ?? line.name;
    options.series.push({
      label: printable(words),
      stroke: causeColour(line.name),
      fill: () => causeHatch(line.name) as string,
      width: 1,
      points: { show: false },
      paths: uPlot.paths.stepped!({ align: -1 }),
      value: (_, __, ___, step) => (step === null ? "" : inLegend(values[at][step], chart.unit)),
    });
  }
  options.hooks!.draw!.push((u) => drawLongest(u, part));
  options.hooks!.ready!.push((u) =>
    u.root.querySelectorAll(".u-series").forEach((entry, series) => {
      const mark = element("canvas", { width: "12", height: "12", class: "hatch" });
      const pen = mark.getContext("2d");
      if (series === 0 || pen === null) return;
      pen.fillStyle = causeHatch(chart.series[chart.series.length - series].name);
      pen.fillRect(0, 0, 12, 12);
      entry.querySelector(".u-marker")?.replaceWith(mark);
    }),
  );
  return new uPlot(options, columns as uPlot.AlignedData, place);
}

/** The longest operations as bars at the top, each in a row of its own. */
function drawLongest(u: uPlot, part: Part): void {
  const list = part.data.stalls;
  if (list === null) return;
  const own = part.chart.id === OF_COMMAND;
  let at = 0;
  const starts = list.start.map((delta) => (at += delta));
  const rows = starts.map((_, row) => row).filter((row) => !own || list.own[row] === 1);
  const longest = rows.sort((a, b) => list.duration[b] - list.duration[a]).slice(0, LONGEST);
  const { left, top, width } = u.bbox;
  const x = (us: number) => Math.min(Math.max(u.valToPos(us / 1e6 - part.zero, "x", true), left), left + width);
  const dot = devicePixelRatio;
  u.ctx.save();
  u.ctx.fillStyle = css("--ink");
  longest.forEach((row, place) => {
    const [from, to] = [x(starts[row]), x(starts[row] + list.duration[row])];
    if (to > left && from < left + width)
      u.ctx.fillRect(from, top + (1 + place * 4) * dot, Math.max(to - from, 2 * dot), 2 * dot);
  });
  u.ctx.restore();
}

interface Column {
  total: number;
  top: number;
  cells: Map<number, number>;
}

/** The scale that heat maps side by side share. */
interface Range {
  lowest: number;
  highest: number;
  most: number;
}

export function rangeOf(charts: Heat[]): Range {
  const range: Range = { lowest: Infinity, highest: 0, most: 1 };
  for (const chart of charts) {
    chart.rows.forEach((row, cell) => {
      range.lowest = Math.min(range.lowest, row);
      range.highest = Math.max(range.highest, row);
      range.most = Math.max(range.most, chart.counts[cell]);
    });
  }
  return range;
}

function drawHeat(
  time: TimeAxis,
  part: Part,
  place: HTMLElement,
  width: number,
  { lowest, highest, most }: Range,
): uPlot {
  const chart = part.chart as Heat;
  const columns = new Map<number, Column>();
  let at = 0;
  chart.columns.forEach((delta, cell) => {
    at += delta;
    const [row, count] = [chart.rows[cell], chart.counts[cell]];
    const column = columns.get(at) ?? { total: 0, top: 0, cells: new Map<number, number>() };
    column.total += count;
    column.top = Math.max(column.top, row);
    column.cells.set(row, count);
    columns.set(at, column);
  });
  const step = chart.width_ms / 1000;
  const first = chart.from_ms / 1000 - part.zero;
  const keys = [...columns.keys()];
  const options = base(time, [part], "count", width);
  options.scales!.y = { range: () => [Math.floor(lowest / 4) * 4, highest + 2] };
  options.cursor!.hover = { prox: (u) => Math.max(pixels(u, step / 2) * 1.01, 1), skip: [undefined] };
  const decades = Array.from({ length: 14 }, (_, power) => 10 ** power).filter(
    (ns) => rowOf(ns) >= lowest - 4 && rowOf(ns) <= highest + 2,
  );
  options.axes![1].splits = () => decades.map(rowOf);
  options.axes![1].values = () => decades.map(duration);
  options.series.push({
    label: "finished",
    stroke: shade(0.7),
    points: { show: false },
    paths: () => null,
    value: (u, _, __, index) => {
      const column = index === null || index === undefined ? undefined : columns.get(keys[index]);
      if (column === undefined) return "";
      const top = u.cursor.top ?? -1;
      const row = top < 0 ? -1 : Math.floor(u.posToVal(top, "y"));
      const here =
        row < lowest || row > highest ? "" : `; here, ≥ ${duration(low(row))}: ${column.cells.get(row) ?? 0}`;
      return `${value(column.total, "count")}, slowest ≥ ${duration(low(column.top))}${here}`;
    },
  });
  options.hooks!.drawAxes = [
    (u) => {
      const pen = u.ctx;
      pen.save();
      pen.beginPath();
      pen.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
      pen.clip();
      for (const [key, column] of columns) {
        const [left, right] = [key * step + first, (key + 1) * step + first].map((t) => u.valToPos(t, "x", true));
        if (right < u.bbox.left || left > u.bbox.left + u.bbox.width) continue;
        for (const [row, count] of column.cells) {
          const [bottom, top] = [row, row + 1].map((y) => u.valToPos(y, "y", true));
          pen.fillStyle = shade(most > 1 ? 0.15 + (0.85 * Math.log(count)) / Math.log(most) : 1);
          pen.fillRect(
            Math.floor(left),
            Math.floor(top),
            Math.max(Math.ceil(right - left), 1),
            Math.max(Math.ceil(bottom - top), 1),
          );
        }
      }
      pen.restore();
    },
  ];
  const data = [keys.map((key) => (key + 0.5) * step + first), keys.map(() => null)] as uPlot.AlignedData;
  return new uPlot(options, data, place);
}

/** Draws a chart when its element becomes visible, and again when the theme or the width changes. */
export class Drawing {
  private drawn: uPlot | null = null;

  constructor(
    private readonly time: TimeAxis,
    private readonly parts: Part[],
    private readonly highest: number | null,
    private readonly range: Range | null,
    readonly place: HTMLElement,
  ) {}

  show(): void {
    if (this.drawn !== null) return;
    const width = Math.max(this.place.clientWidth, 240);
    const [part] = this.parts;
    this.place.textContent = "";
    if (part.chart.kind === "heat")
      this.drawn = drawHeat(this.time, part, this.place, width, this.range ?? rangeOf([part.chart]));
    else if (part.chart.kind === "stack") this.drawn = drawStack(this.time, part, this.place, width, this.highest);
    else this.drawn = drawLines(this.time, this.parts, this.place, width, this.highest);
    this.time.charts.add(this.drawn);
  }

  again(): void {
    if (this.drawn === null) return;
    this.time.charts.delete(this.drawn);
    this.drawn.destroy();
    this.drawn = null;
    this.show();
  }

  fit(width = this.place.clientWidth): void {
    this.drawn?.setSize({ width: Math.max(width, 240), height: HEIGHT });
  }
}

/** The largest value of all runs: charts side by side share one scale. */
export function highestOf(charts: (Lines | Heat)[]): number | null {
  let highest = 0;
  for (const chart of charts) {
    if (chart.kind === "heat" || chart.log === true) return null;
    const steps = chart.series[0]?.v.length ?? 0;
    for (let step = 0; step < steps; step++) {
      const values = chart.series.map((line) => (line.hi ?? line.v)[step] ?? 0);
      highest = Math.max(highest, chart.kind === "stack" ? values.reduce((a, b) => a + b, 0) : Math.max(...values));
    }
  }
  return highest;
}

export function legendOfMarks(marks: Mark[]): HTMLElement | null {
  const kinds = new Set(marks.map((mark) => mark.kind));
  const words: string[] = [];
  if (kinds.has("phase")) words.push("dashed lines: phases");
  if (kinds.has("stuck")) words.push("bars on top: stuck operations");
  if (kinds.has("clock")) words.push("dotted lines: steps of the wall clock");
  if (kinds.has("loss")) words.push("solid lines: losses");
  return words.length === 0 ? null : element("p", { class: "faint" }, `Marks: ${words.join("; ")}.`);
}

/** Whether no line of a chart ever changes: it says nothing that one word does not. */
export function isFlat(chart: Chart | undefined): boolean {
  if (chart?.kind !== "lines") return false;
  return chart.series.every((line) => {
    const known = [...line.v, ...(line.lo ?? []), ...(line.hi ?? [])].filter((v) => v !== null && v !== undefined);
    return known.every((v) => v === known[0]);
  });
}

export function isDrawn(chart: Chart | undefined): chart is Lines | Heat {
  return chart !== undefined && chart.kind !== "absent";
}
