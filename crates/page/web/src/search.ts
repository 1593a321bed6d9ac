import { around } from "./detail";
import { element } from "./element";
import type { Source } from "./source";
import type { TimeAxis } from "./time";
import type { Axis, Chart, Run } from "./types";

const SHOWN = 40;

/** The page that a search works on. The search and its results outlive the pages of a growing run. */
interface Bound {
  run: Run;
  zero: number;
  time: TimeAxis;
  add: (metric: number, chart: Chart, axis: Axis) => void;
}

/** Search for any counter and any request of a run; only a server has them. */
export class Search {
  readonly place: HTMLElement;
  private readonly found = element("div", { class: "found", role: "status" });
  private readonly listed = element("div");
  private readonly counters = element("input", {
    type: "search",
    placeholder: "any counter: pgscan, loop0, xfs.log …",
    "aria-label": "find counters",
  });
  private readonly find = element("input", {
    type: "search",
    placeholder: "requests: kind, device, task, sector",
    "aria-label": "find requests",
  });
  private metrics: Promise<[number, string][]> | null = null;
  private bound: Bound;

  constructor(
    private readonly source: Source,
    private readonly number: number,
    bound: Bound,
  ) {
    this.bound = bound;
    const submit = element("button", { type: "submit" }, "Requests in the zoomed interval");
    const form = element("form", { class: "bar-of-tools" }, this.find, submit);
    this.counters.addEventListener("input", () => this.fit());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.requests().catch((error: unknown) => failed(this.listed, error));
    });
    this.place = element(
      "section",
      { class: "search" },
      element("h3", {}, `Search ${bound.run.name}`),
      element("div", { class: "bar-of-tools" }, this.counters),
      this.found,
      form,
      this.listed,
    );
  }

  /** Moves the search to a newer page. A search without results is repeated: there may be more counters now. */
  bind(bound: Bound): void {
    this.bound = bound;
    this.metrics = null;
    if (this.found.querySelector("button") === null) this.fit();
  }

  private fit(): void {
    this.fitting().catch((error: unknown) => failed(this.found, error));
  }

  private async fitting(): Promise<void> {
    this.metrics ??= this.source.metrics(this.number);
    const all = await this.metrics;
    const wanted = this.counters.value
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== "");
    const fitting =
      wanted.length === 0 ? [] : all.filter(([, name]) => wanted.every((word) => name.toLowerCase().includes(word)));
    const buttons = fitting.slice(0, SHOWN).map(([metric, name]) => {
      const button = element("button", { type: "button" }, name);
      button.addEventListener(
        "click",
        () => void this.draw(metric).catch((error: unknown) => failed(this.found, error)),
      );
      return button;
    });
    const none =
      wanted.length > 0 && fitting.length === 0
        ? [element("span", { class: "faint" }, "no counter name contains this")]
        : [];
    const more =
      fitting.length > SHOWN ? [element("span", { class: "faint" }, `and ${fitting.length - SHOWN} more`)] : [];
    this.found.replaceChildren(...buttons, ...none, ...more);
  }

  private async draw(metric: number): Promise<void> {
    const { chart, axis } = await this.source.series(this.number, metric);
    this.bound.add(metric, chart, axis);
  }

  private async requests(): Promise<void> {
    const { time, zero } = this.bound;
    const [from, to] = [(time.from + zero) * 1000, (time.to + zero) * 1000];
    const requests = await this.source.requests(this.number, from, to, this.find.value.trim());
    const left =
      (requests.left_out ?? 0) > 0
        ? element("p", { class: "note" }, `${requests.left_out} shorter requests are left out; zoom in.`)
        : "";
    this.listed.replaceChildren(left, around(requests, from, to, zero, 200));
  }
}

function failed(place: HTMLElement, error: unknown): void {
  place.replaceChildren(
    element(
      "p",
      { class: "note" },
      `The server does not respond: ${error instanceof Error ? error.message : String(error)}`,
    ),
  );
}
