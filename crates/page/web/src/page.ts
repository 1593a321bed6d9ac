import { Drawing, highestOf, isDrawn, legendOfMarks, type Part } from "./charts";
import { around, detail } from "./detail";
import { element } from "./element";
import { duration, moment } from "./format";
import { comparison, overview } from "./overview";
import { search } from "./search";
import type { Source } from "./source";
import { StallList } from "./stalls";
import { choose, isDark } from "./theme";
import { TimeAxis, marksAt } from "./time";
import type { Chart, Document, Run } from "./types";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** What outlives a page that is drawn anew because its run has grown. */
export interface Memory {
  zoom: [number, number] | null;
  overlaid: boolean;
  scroll: number;
}

export class Page {
  private readonly time: TimeAxis;
  private readonly zeros: number[];
  private readonly readout = element("output", { class: "readout", "aria-live": "off" });
  private readonly charts = element("div", { class: "charts" });
  private readonly said = element("p", { class: "note", hidden: true, role: "status" });
  private drawings: Drawing[] = [];
  private overlaid: boolean;
  private seen: IntersectionObserver | null = null;
  private readonly further: { run: number; chart: Chart }[] = [];

  constructor(place: HTMLElement, private readonly source: Source, private readonly data: Document, memory?: Memory) {
    const runs = data.runs;
    const measured = (run: Run) => run.marks.find((mark) => mark.kind === "phase" && !mark.text.endsWith("(not measured)"));
    this.zeros = runs.map((run) => (runs.length > 1 ? (measured(run)?.from ?? 0) / 1000 : 0));
    const first = Math.min(...this.zeros.map((zero) => -zero));
    this.time = new TimeAxis(first, Math.max(...runs.map((run, at) => run.span_ms / 1000 - this.zeros[at]), first + 1));
    this.overlaid = memory?.overlaid ?? false;
    document.title = `${runs.map((run) => run.summary.workload).join(", ")} – Stallscope`;
    place.replaceChildren(this.toolbar(), element("main", {}, this.said,
      element("div", { class: runs.length > 1 ? "side-by-side" : "" }, ...runs.map((run, at) => overview(run, this.letter(at)))),
      ...data.comparisons.map((found) => comparison(found, runs[0])),
      ...(source.served ? runs.map((run, at) => this.search(run, at)) : []),
      element("h2", {}, "Over time"), legendOfMarks(runs.flatMap((run) => run.marks)) ?? "", this.charts,
      ...runs.map((run, at) => this.stalls(run, at)), this.footer()));
    this.time.listen(() => this.tell());
    this.drawCharts();
    if (memory?.zoom != null) this.time.zoom(...memory.zoom);
    if (memory !== undefined) scrollTo(0, memory.scroll);
    this.charts.addEventListener("keydown", (event) => this.key(event));
    matchMedia("(prefers-color-scheme: dark)").onchange = () => this.repaint();
    onresize = () => this.drawings.forEach((drawing) => drawing.fit());
    onbeforeprint = () => this.print(true);
    onafterprint = () => this.print(false);
    this.tell();
  }

  memory(): Memory {
    const whole = this.time.from === this.time.first && this.time.to === this.time.last;
    return { zoom: whole ? null : [this.time.from, this.time.to], overlaid: this.overlaid, scroll: scrollY };
  }

  say(text: string): void {
    this.said.hidden = false;
    this.said.textContent = text;
  }

  private letter(run: number): string {
    return this.data.runs.length > 1 ? LETTERS[run % LETTERS.length] : "";
  }

  private toolbar(): HTMLElement {
    const button = (text: string, title: string, act: () => void) => {
      const made = element("button", { type: "button", title, "aria-label": title }, text);
      made.addEventListener("click", act);
      return made;
    };
    const both = this.data.runs.length > 1
      ? button("Overlay", "Lay the runs' lines upon each other, or side by side", () => {
          this.overlaid = !this.overlaid;
          this.drawCharts();
        })
      : "";
    return element("header", {}, element("strong", {}, "Stallscope"), this.readout,
      element("nav", { "aria-label": "view" }, both,
        button("−", "Zoom out (key −)", () => this.time.scale(2)),
        button("+", "Zoom in (key +)", () => this.time.scale(0.5)),
        button("All", "The whole time (key 0)", () => this.time.reset()),
        button("◐", "Dark or light", () => {
          choose(isDark() ? "light" : "dark");
          this.repaint();
        }),
        button("Print", "Print", () => print())));
  }

  /** The time under the cursor, what is marked there, and what is zoomed to. */
  private tell(): void {
    const { at, from, to } = this.time;
    const zoomed = `${moment(from)} – ${moment(to)}`;
    if (at === null) {
      this.readout.textContent = zoomed;
      return;
    }
    const words = this.data.runs.flatMap((run, number) => {
      const marks = marksAt(run.marks, at + this.zeros[number], (to - from) / 300).slice(0, 4).map((mark) => mark.text);
      return marks.length === 0 ? [] : [`${this.letter(number)} ${marks.join("; ")}`.trim()];
    });
    this.readout.textContent = [moment(at), ...words].join(" · ");
  }

  /** Charts of all runs by their ids, in the order of the page. */
  private rows(): { id: string; title: string; of: (Chart | undefined)[] }[] {
    const rows: { id: string; title: string; of: (Chart | undefined)[] }[] = [];
    this.data.runs.forEach((run, number) => {
      const further = this.further.filter((one) => one.run === number).map((one) => one.chart);
      for (const chart of [...further, ...run.charts]) {
        let row = rows.find((known) => known.id === chart.id);
        if (row === undefined) {
          row = { id: chart.id, title: chart.title, of: this.data.runs.map(() => undefined) };
          rows.push(row);
        }
        row.of[number] = chart;
      }
    });
    return rows;
  }

  private drawCharts(): void {
    this.time.charts.clear();
    this.seen?.disconnect();
    this.drawings = [];
    const pending = new Map<Element, Drawing>();
    this.seen = new IntersectionObserver((changes) => {
      for (const change of changes) {
        if (!change.isIntersecting) continue;
        pending.get(change.target)?.show();
        this.seen?.unobserve(change.target);
      }
    }, { rootMargin: "300px" });
    this.charts.replaceChildren(...this.rows().map((row) => this.row(row, pending)));
    for (const place of pending.keys()) this.seen.observe(place);
  }

  private row(row: { id: string; title: string; of: (Chart | undefined)[] }, pending: Map<Element, Drawing>): HTMLElement {
    const parts: Part[] = [];
    row.of.forEach((chart, run) => {
      if (isDrawn(chart)) parts.push({ run, name: this.letter(run), data: this.data.runs[run], chart, zero: this.zeros[run] });
    });
    const highest = parts.length > 1 ? highestOf(parts.map((part) => part.chart)) : null;
    const draw = (of: Part[]) => {
      const place = element("div", { class: "chart" });
      const drawing = new Drawing(this.time, of, highest, place);
      this.drawings.push(drawing);
      pending.set(place, drawing);
      return place;
    };
    const cells: HTMLElement[] = [];
    const together = this.overlaid && parts.length > 1 && parts.every((part) => part.chart.kind === "lines");
    if (together) cells.push(draw(parts));
    row.of.forEach((chart, run) => {
      const part = parts.find((one) => one.run === run);
      const name = this.letter(run) === "" ? null : element("span", { class: "letter" }, this.letter(run));
      if (part !== undefined && !together) cells.push(element("div", {}, name, draw([part])));
      else if (part === undefined) {
        const why = chart?.kind === "absent" ? chart.why : "This run has nothing of it.";
        cells.push(element("div", { class: "absent" }, name, element("p", {}, why)));
      }
    });
    const figure = element("figure", { tabindex: "0", "aria-label": row.title, "data-chart": row.id },
      element("figcaption", {}, row.title), element("div", { class: "cells" }, ...cells));
    figure.querySelector<HTMLElement>(".cells")!.style.setProperty("--cells", String(cells.length));
    return figure;
  }

  private key(event: KeyboardEvent): void {
    const { from, to, at } = this.time;
    const step = (to - from) / 100;
    const acts: Record<string, () => void> = {
      ArrowLeft: () => (event.shiftKey ? this.time.pan(-0.2) : this.time.point((at ?? from) - step)),
      ArrowRight: () => (event.shiftKey ? this.time.pan(0.2) : this.time.point((at ?? from) + step)),
      "+": () => this.time.scale(0.5),
      "=": () => this.time.scale(0.5),
      "-": () => this.time.scale(2),
      "0": () => this.time.reset(),
      Escape: () => this.time.reset(),
    };
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : acts[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  }

  private search(run: Run, number: number): HTMLElement {
    return search(this.source, run, number, this.zeros[number], this.time, (chart, axis) => {
      run.axes.samples = axis;
      if (!this.further.some((one) => one.run === number && one.chart.id === chart.id)) this.further.unshift({ run: number, chart });
      this.drawCharts();
    });
  }

  private stalls(run: Run, number: number): HTMLElement {
    if (run.stalls === null || run.stalls.seen === 0) {
      const why = run.stalls === null ? "Slow operations are not known: the run has no trace." : "No operation was slow.";
      return element("section", {}, element("h3", {}, `${this.letter(number)} Slow operations`.trim()), element("p", {}, why));
    }
    const shown = element("div", { class: "detail", tabindex: "-1" }, element("p", { class: "faint" }, "Choose a slow operation to see its chain of waits and the requests around it."));
    const list = new StallList(run, this.zeros[number], this.time, (row, [from, to]) => void this.choose(run, number, row, from, to, shown));
    if (this.letter(number) !== "") list.place.querySelector("h3")?.prepend(element("span", { class: "letter" }, this.letter(number)), " ");
    list.place.append(shown);
    requestAnimationFrame(() => list.draw());
    return list.place;
  }

  private async choose(run: Run, number: number, row: number, from: number, to: number, shown: HTMLElement): Promise<void> {
    this.time.choose(number, from, to);
    const list = run.stalls!;
    let place = 0;
    for (let at = 0; at <= row; at++) place += list.number[at];
    const zero = this.zeros[number];
    const slack = (to - from) * 0.05;
    const [fromMs, toMs] = [(from - slack + zero) * 1000, (to + slack + zero) * 1000];
    const zoom = element("button", { type: "button" }, "Zoom to it");
    zoom.addEventListener("click", () => this.time.zoom(from - (to - from), to + (to - from)));
    const stall = list.full[String(place)] ?? (await this.source.stall(number, place));
    const requests = this.source.served ? await this.source.requests(number, fromMs, toMs, "") : run.requests;
    const told = stall === null
      ? [element("h3", {}, `${list.names[list.operation[row]]} by ${list.names[list.task[row]]}`),
         element("p", {}, `took ${duration(list.duration[row] * 1000)} from ${moment(from)}; ${list.share[row]} % of it ${run.causes[list.cause[row]][1]}`),
         element("p", { class: "note" }, `This file has the chains of the ${Object.keys(list.full).length} longest only; 'stallscope view RUN' has all.`)]
      : detail(run, stall, from);
    shown.replaceChildren(...told, zoom, element("h4", {}, "The requests around it"), around(requests, fromMs, toMs, zero));
  }

  private repaint(): void {
    this.drawings.forEach((drawing) => drawing.again());
  }

  /** Paper is white, and shows all charts at its own width. */
  private print(begin: boolean): void {
    const root = document.documentElement;
    if (begin) {
      root.dataset.before = root.dataset.theme ?? "";
      choose("light");
    } else if (root.dataset.before !== undefined && root.dataset.before !== "") choose(root.dataset.before as "dark" | "light");
    this.drawings.forEach((drawing) => {
      drawing.show();
      drawing.again();
      if (begin) drawing.fit(Math.min(drawing.place.clientWidth, 680 / this.data.runs.length));
    });
  }

  private footer(): HTMLElement {
    return element("footer", { class: "faint" },
      element("p", {}, "Keys on a chart: ← → move the time, + − zoom, Shift ← → pan, 0 the whole time. Drag to zoom, double-click for all. In the list: ↑ ↓."),
      element("p", {}, "Made by Stallscope (MIT). Charts: uPlot © 2022 Leon Sorokin, MIT licence. Colours after Okabe and Ito."));
  }
}
