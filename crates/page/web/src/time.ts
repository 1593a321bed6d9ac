import type uPlot from "uplot";
import type { Mark } from "./types";

/** The time axis that all charts share, in seconds: zoomed interval, cursor and selected stall. */
export class TimeAxis {
  from: number;
  to: number;
  at: number | null = null;
  /** The selected stall: run, begin, end. */
  chosen: { run: number; from: number; to: number } | null = null;
  readonly charts = new Set<uPlot>();
  private listeners: (() => void)[] = [];
  private zooming = false;

  constructor(
    readonly first: number,
    readonly last: number,
  ) {
    this.from = first;
    this.to = last;
  }

  listen(listener: () => void): void {
    this.listeners.push(listener);
  }

  zoom(from: number, to: number): void {
    if (this.zooming) return;
    const least = Math.min(0.01, this.last - this.first);
    this.from = Math.max(this.first, Math.min(from, this.last - least));
    this.to = Math.min(this.last, Math.max(to, this.from + least));
    this.zooming = true;
    for (const chart of this.charts) chart.setScale("x", { min: this.from, max: this.to });
    this.zooming = false;
    this.notify();
  }

  /** Useful digits of a second at this zoom. */
  digits(): number {
    return this.to - this.from < 5 ? 3 : 1;
  }

  reset(): void {
    this.zoom(this.first, this.last);
  }

  /** Zooms by a factor around the cursor or the middle. */
  scale(factor: number): void {
    const about = this.at ?? (this.from + this.to) / 2;
    this.zoom(about - (about - this.from) * factor, about + (this.to - about) * factor);
  }

  pan(share: number): void {
    const width = this.to - this.from;
    const from = Math.max(this.first, Math.min(this.from + width * share, this.last - width));
    this.zoom(from, from + width);
  }

  /** Moves the cursor of all charts to a moment. */
  point(at: number): void {
    this.at = Math.max(this.from, Math.min(at, this.to));
    for (const chart of this.charts) chart.setCursor({ left: chart.valToPos(this.at, "x"), top: 10 });
    this.notify();
  }

  moved(at: number | null): void {
    if (this.at === at) return;
    this.at = at;
    this.notify();
  }

  choose(run: number, from: number, to: number): void {
    this.chosen = { run, from, to };
    for (const chart of this.charts) chart.redraw(false);
  }

  private notify(): void {
    for (const listener of this.listeners) listener();
  }
}

/** The marks at a moment. */
export function marksAt(marks: Mark[], seconds: number, slack: number): Mark[] {
  const ms = seconds * 1000;
  return marks.filter((mark) => {
    const reach = mark.kind === "phase" || mark.kind === "stuck" ? 0 : slack * 1000;
    const to = mark.to ?? (mark.kind === "phase" ? Infinity : mark.from);
    return mark.from - reach <= ms && ms <= to + reach;
  });
}
