import { Drawing, highestOf, isDrawn, isFlat, legendOfMarks, type Part, rangeOf } from "./charts";
import { around, detail } from "./detail";
import { element } from "./element";
import { duration, moment } from "./format";
import { comparison, figures, overview } from "./overview";
import { type Scope, isOfCauses, scopesOf } from "./scope";
import { Search } from "./search";
import type { Source } from "./source";
import { type Kept, StallList } from "./stalls";
import { choice, choose, isDark } from "./theme";
import { waitGraph } from "./waits";
import { TimeAxis, marksAt } from "./time";
import type { Axis, Chart, Document, Run } from "./types";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** State that survives a redraw of the page after its run has grown. */
export interface Memory {
  zoom: [number, number] | null;
  overlaid: boolean;
  /** Whether the whole machine is shown instead of the recorded command. */
  whole: boolean;
  scroll: number;
  /** For each run: the search, the state of its list, and the selected stall. */
  searches: Search[];
  lists: (Kept | null)[];
  chosen: (Chosen | null)[];
  /** Counters that the reader added. */
  further: Further[];
  focus: Element | null;
}

/** A counter's chart. */
interface Further {
  run: number;
  metric: number;
  chart: Chart;
  axis: Axis;
}

/** The details of a stall, and its time on the axis. */
interface Chosen {
  details: HTMLElement[];
  requests: HTMLElement[];
  from: number;
  to: number;
}

export class Page {
  private readonly time: TimeAxis;
  private readonly zeros: number[];
  private readonly readout = element("output", { class: "readout", "aria-live": "off" });
  private readonly charts = element("div", { class: "charts" });
  /** Of a single run: its charts that belong to the answer. */
  private readonly first = element("div", { class: "first-chart" });
  private readonly undrawn = element("p", { class: "faint" });
  /** Charts that never change. */
  private readonly flat = element("details", { class: "faint" });
  private readonly overviews = element("div", {});
  private whole: boolean;
  private readonly notice = element("p", { class: "note", hidden: true, role: "status" });
  private drawings: Drawing[] = [];
  private overlaid: boolean;
  private seen: IntersectionObserver | null = null;
  /** The theme before printing. */
  private before: "dark" | "light" | null = null;
  private readonly further: Further[];
  private readonly searches: Search[];
  private readonly lists: (StallList | null)[] = [];
  private readonly chosen: (Chosen | null)[];
  /** The last row requested, for each run: responses may arrive in another order. */
  private readonly requested: number[] = [];

  constructor(
    place: HTMLElement,
    private readonly source: Source,
    private readonly data: Document,
    groups: HTMLElement | null = null,
    memory?: Memory,
  ) {
    const runs = data.runs;
    const measured = (run: Run) =>
      run.marks.find((mark) => mark.kind === "phase" && !mark.text.endsWith("(not measured)"));
    this.zeros = runs.map((run) => (runs.length > 1 ? (measured(run)?.from ?? 0) / 1000 : 0));
    const first = Math.min(...this.zeros.map((zero) => -zero));
    this.time = new TimeAxis(first, Math.max(...runs.map((run, at) => run.span_ms / 1000 - this.zeros[at]), first + 1));
    this.overlaid = memory?.overlaid ?? false;
    this.whole = memory?.whole ?? false;
    this.further = memory?.further ?? [];
    this.further.forEach(({ run, axis }) => (runs[run].axes.samples = axis));
    this.chosen = memory?.chosen ?? runs.map(() => null);
    this.searches = source.served ? runs.map((run, at) => this.search(run, at, memory)) : [];
    document.title = `${runs.map((run) => run.title).join(", ")} – Stallscope`;
    if (runs.length > 1) this.overviews.className = "side-by-side";
    place.replaceChildren(
      this.toolbar(),
      element(
        "main",
        {},
        this.notice,
        groups,
        this.overviews,
        ...data.comparisons.map((found) => comparison(found, runs[0])),
        ...runs.map((run, at) => this.stalls(run, at, memory)),
        element("div", { class: runs.length > 1 ? "side-by-side" : "" }, ...runs.map((run) => figures(run))),
        ...this.searches.map((search) => search.place),
        element("h2", {}, "Over time"),
        legendOfMarks(runs.flatMap((run) => run.marks)) ?? "",
        this.charts,
        this.flat,
        this.undrawn,
        this.footer(),
      ),
    );
    this.drawOverviews();
    this.time.listen(() => this.updateReadout());
    this.drawCharts();
    if (memory?.zoom != null) this.time.zoom(...memory.zoom);
    if (memory !== undefined) this.restore(memory);
    for (const place of [this.charts, this.first]) place.addEventListener("keydown", (event) => this.key(event));
    matchMedia("(prefers-color-scheme: dark)").onchange = () => this.repaint();
    onresize = () => this.drawings.forEach((drawing) => drawing.fit());
    onbeforeprint = () => this.print(true);
    onafterprint = () => this.print(false);
    this.updateReadout();
  }

  memory(): Memory {
    const whole = this.time.from === this.time.first && this.time.to === this.time.last;
    return {
      zoom: whole ? null : [this.time.from, this.time.to],
      overlaid: this.overlaid,
      whole: this.whole,
      scroll: scrollY,
      focus: document.activeElement,
      searches: this.searches,
      lists: this.lists.map((list) => list?.kept() ?? null),
      chosen: this.chosen,
      further: this.further,
    };
  }

  /** Restores scroll position, selection and focus. Elements that outlive the page keep the focus or get it back. */
  private restore(memory: Memory): void {
    this.chosen.forEach((chosen, run) => chosen !== null && this.time.choose(run, chosen.from, chosen.to));
    const chart = memory.focus?.getAttribute("data-chart");
    const list = memory.lists.findIndex(
      (kept) => kept !== null && memory.focus !== null && kept.place.contains(memory.focus),
    );
    if (chart !== null && chart !== undefined)
      document.querySelector<HTMLElement>(`[data-chart="${CSS.escape(chart)}"]`)?.focus({ preventScroll: true });
    else if (list >= 0) this.lists[list]?.focusLike(memory.focus!);
    else if (this.searches.some((search) => search.place.contains(memory.focus)))
      (memory.focus as HTMLElement).focus({ preventScroll: true });
    scrollTo(0, memory.scroll);
  }

  /** What a run is looked at for: the recorded command, or the whole machine. */
  private scope(run: number): Scope | null {
    const scopes = scopesOf(this.data.runs[run]);
    return scopes[this.whole ? scopes.length - 1 : 0] ?? null;
  }

  private drawOverviews(): void {
    const { runs } = this.data;
    this.overviews.replaceChildren(
      ...runs.map((run, at) => {
        const scope = this.scope(at);
        return overview(
          run,
          this.letter(at),
          scope,
          this.switches(run),
          runs.length > 1 || scope === null ? null : this.pictures(run, scope),
        );
      }),
    );
  }

  /** Buttons for the command and the whole machine, where both have something to say. */
  private switches(run: Run): HTMLElement | null {
    const scopes = scopesOf(run);
    if (scopes.length < 2) return null;
    const buttons = scopes.map((scope, at) => {
      const whole = at > 0;
      const button = element("button", { type: "button", "aria-pressed": String(whole === this.whole) }, scope.name);
      button.addEventListener("click", () => {
        this.whole = whole;
        this.drawOverviews();
        this.drawCharts();
        this.data.runs.forEach((_, number) => this.lists[number]?.within(this.scope(number)?.own ?? false));
      });
      return button;
    });
    return element("span", { class: "switch", role: "group", "aria-label": "scope" }, ...buttons);
  }

  notify(text: string): void {
    this.notice.hidden = false;
    this.notice.textContent = text;
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
    const both =
      this.data.runs.length > 1
        ? button("Overlay", "Overlay the runs, or show them side by side", () => {
            this.overlaid = !this.overlaid;
            this.drawCharts();
          })
        : "";
    return element(
      "header",
      {},
      element("strong", {}, "Stallscope"),
      this.readout,
      element(
        "nav",
        { "aria-label": "view" },
        both,
        button("−", "Zoom out (key −)", () => this.time.scale(2)),
        button("+", "Zoom in (key +)", () => this.time.scale(0.5)),
        button("All", "Show the whole run (key 0)", () => this.time.reset()),
        button("◐", "Switch between dark and light", () => {
          choose(isDark() ? "light" : "dark");
          this.repaint();
        }),
        button("Print", "Print", () => print()),
      ),
    );
  }

  /** Shows the time under the cursor and the marks there, or the zoomed interval. */
  private updateReadout(): void {
    const { at, from, to } = this.time;
    const zoomed = `${moment(from, this.time.digits())} – ${moment(to, this.time.digits())}`;
    if (at === null) {
      this.readout.textContent = zoomed;
      return;
    }
    const words = this.data.runs.flatMap((run, number) => {
      const marks = marksAt(run.marks, at + this.zeros[number], (to - from) / 300)
        .slice(0, 4)
        .map((mark) => mark.text);
      return marks.length === 0 ? [] : [`${this.letter(number)} ${marks.join("; ")}`.trim()];
    });
    this.readout.textContent = [moment(at, this.time.digits()), ...words].join(" · ");
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
    this.seen = new IntersectionObserver(
      (changes) => {
        for (const change of changes) {
          if (!change.isIntersecting) continue;
          pending.get(change.target)?.show();
          this.seen?.unobserve(change.target);
        }
      },
      { rootMargin: "300px" },
    );
    const rows = this.rows();
    const isEmpty = (row: { of: (Chart | undefined)[] }) => !row.of.some(isDrawn);
    const never = (row: { of: (Chart | undefined)[] }) =>
      !isEmpty(row) && row.of.every((chart) => !isDrawn(chart) || isFlat(chart));
    const shown = this.scope(0)?.chart;
    const leads = (row: { id: string }) => this.data.runs.length === 1 && row.id === shown;
    // One of the charts by cause is enough.
    const isOther = (row: { id: string }) => isOfCauses(row.id) && row.id !== shown;
    const figures = (these: typeof rows) => these.map((row) => this.row(row, pending));
    this.first.replaceChildren(...figures(rows.filter((row) => leads(row) && !isEmpty(row))));
    this.charts.replaceChildren(
      ...figures(rows.filter((row) => !leads(row) && !isOther(row) && !isEmpty(row) && !never(row))),
    );
    this.fold(rows.filter(never), figures);
    this.undrawn.replaceChildren(...this.why(rows.filter((row) => isEmpty(row) && !isOther(row))));
    for (const place of pending.keys()) this.seen.observe(place);
  }

  /** Charts that never change, as one line that opens. */
  private fold<Row extends { title: string }>(rows: Row[], figures: (rows: Row[]) => HTMLElement[]): void {
    this.flat.hidden = rows.length === 0;
    this.flat.replaceChildren(
      element("summary", {}, `Without a change: ${rows.map((row) => row.title).join("; ")}.`),
      element("div", { class: "charts" }, ...figures(rows)),
    );
  }

  /** Charts without data, and why they have none. */
  private why(rows: { title: string; of: (Chart | undefined)[] }[]): string[] {
    const reasons = new Map<string, string[]>();
    for (const { title, of } of rows) {
      const absent = of.find((chart) => chart?.kind === "absent");
      const why = absent?.kind === "absent" ? absent.why : "";
      reasons.set(why, [...(reasons.get(why) ?? []), title]);
    }
    return [...reasons].map(([why, titles]) => `Not drawn: ${titles.join("; ")}. ${why} `);
  }

  /** What a reader of one run looks at first: where the time went, and when. */
  private pictures(run: Run, scope: Scope): HTMLElement {
    const find = (text: string) => this.lists[0]?.search(text);
    return element("div", { class: "first" }, waitGraph(run, scope, find), this.first);
  }

  private row(
    row: { id: string; title: string; of: (Chart | undefined)[] },
    pending: Map<Element, Drawing>,
  ): HTMLElement {
    const parts: Part[] = [];
    row.of.forEach((chart, run) => {
      if (isDrawn(chart))
        parts.push({ run, name: this.letter(run), data: this.data.runs[run], chart, zero: this.zeros[run] });
    });
    const highest = parts.length > 1 ? highestOf(parts.map((part) => part.chart)) : null;
    const heats = parts.map((part) => part.chart).filter((chart) => chart.kind === "heat");
    const range = heats.length > 1 ? rangeOf(heats) : null;
    const draw = (of: Part[]) => {
      const place = element("div", { class: "chart" });
      const drawing = new Drawing(this.time, of, highest, range, place);
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
        const why = chart?.kind === "absent" ? chart.why : "This run has no data for this chart.";
        cells.push(element("div", { class: "absent" }, name, element("p", {}, why)));
      }
    });
    const figure = element(
      "figure",
      { tabindex: "0", "aria-label": row.title, "data-chart": row.id },
      element("figcaption", {}, row.title),
      element("div", { class: "cells" }, ...cells),
    );
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

  private search(run: Run, number: number, memory?: Memory): Search {
    const add = (metric: number, chart: Chart, axis: Axis) => {
      run.axes.samples = axis;
      if (!this.further.some((one) => one.run === number && one.chart.id === chart.id))
        this.further.unshift({ run: number, metric, chart, axis });
      this.drawCharts();
    };
    const bound = { run, zero: this.zeros[number], time: this.time, add };
    const search = memory?.searches[number];
    search?.bind(bound);
    return search ?? new Search(this.source, number, bound);
  }

  private stalls(run: Run, number: number, memory?: Memory): HTMLElement {
    this.lists[number] = null;
    if (run.stalls === null || run.stalls.seen === 0) {
      const why = run.stalls === null ? "Slow operations are unknown: the run has no trace." : "No operation was slow.";
      return element(
        "section",
        {},
        element("h3", {}, `${this.letter(number)} Slow operations`.trim()),
        element("p", {}, why),
      );
    }
    const shown = element(
      "div",
      { class: "detail", tabindex: "-1" },
      element("p", { class: "faint" }, "Select a slow operation to see its chain of waits and concurrent requests."),
    );
    const failed = (error: unknown) =>
      this.notify(`The server does not respond: ${error instanceof Error ? error.message : String(error)}`);
    const list = new StallList(
      run,
      this.zeros[number],
      this.time,
      (row, [from, to]) => void this.choose(run, number, row, from, to, shown).catch(failed),
      this.scope(number)?.own ?? false,
      memory?.lists[number] ?? null,
    );
    this.lists[number] = list;
    this.show(number, shown);
    if (this.letter(number) !== "")
      list.place.querySelector("h3")?.prepend(element("span", { class: "letter" }, this.letter(number)), " ");
    list.place.append(shown);
    requestAnimationFrame(() => list.draw());
    return list.place;
  }

  private async choose(
    run: Run,
    number: number,
    row: number,
    from: number,
    to: number,
    shown: HTMLElement,
  ): Promise<void> {
    this.time.choose(number, from, to);
    this.requested[number] = row;
    const list = run.stalls!;
    let place = 0;
    for (let at = 0; at <= row; at++) place += list.number[at];
    const zero = this.zeros[number];
    const slack = (to - from) * 0.05;
    const [fromMs, toMs] = [(from - slack + zero) * 1000, (to + slack + zero) * 1000];
    const stall = list.full[String(place)] ?? (await this.source.stall(number, place));
    const requests = this.source.served ? await this.source.requests(number, fromMs, toMs, "") : run.requests;
    const details =
      stall === null
        ? [
            element("h3", {}, `${list.names[list.operation[row]]} by ${list.names[list.task[row]]}`),
            element(
              "p",
              {},
              `took ${duration(list.duration[row] * 1000)} from ${moment(from)}; ${list.share[row]} %: ${run.causes[list.cause[row]][1]}`,
            ),
            element(
              "p",
              { class: "note" },
              `This file holds the chains of the ${Object.keys(list.full).length} longest only; 'stallscope view RUN' shows all.`,
            ),
          ]
        : detail(run, stall, from);
    if (this.requested[number] !== row) return;
    this.chosen[number] = {
      details,
      requests: [element("h4", {}, "Concurrent requests"), around(requests, fromMs, toMs, zero)],
      from,
      to,
    };
    this.show(number, shown);
  }

  private show(number: number, shown: HTMLElement): void {
    const chosen = this.chosen[number];
    if (chosen === null) return;
    const { from, to } = chosen;
    const zoom = element("button", { type: "button" }, "Zoom to stall");
    zoom.addEventListener("click", () => this.time.zoom(from - (to - from), to + (to - from)));
    shown.replaceChildren(...chosen.details, zoom, ...chosen.requests);
  }

  private repaint(): void {
    this.drawings.forEach((drawing) => drawing.again());
  }

  /** Printed pages are white and show all charts at the paper's width. */
  private print(begin: boolean): void {
    if (begin) this.before = choice();
    choose(begin ? "light" : this.before);
    this.drawings.forEach((drawing) => {
      drawing.show();
      drawing.again();
      if (begin) drawing.fit(Math.min(drawing.place.clientWidth, 680 / this.data.runs.length));
    });
  }

  private footer(): HTMLElement {
    return element(
      "footer",
      { class: "faint" },
      element(
        "p",
        {},
        "Keys on a chart: ← → move the cursor, + − zoom, Shift ← → pan, 0 shows the whole run. Drag to zoom, double-click to reset. In the list: ↑ ↓.",
      ),
      element(
        "p",
        {},
        "Made by Stallscope (MIT). Charts: uPlot © 2022 Leon Sorokin, MIT licence. Colours after Okabe and Ito.",
      ),
    );
  }
}
