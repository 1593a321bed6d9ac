import { causeColour } from "./causes";
import { element, table } from "./element";
import { count, duration, moment } from "./format";
import { words } from "./overview";
import type { TimeAxis } from "./time";
import type { Run } from "./types";

const ROW = 26;
/** Rows on paper. */
const PRINTED = 30;

/** State of a list that its successor takes over when the run has grown. */
export interface Kept {
  place: HTMLElement;
  find: string;
  sort: "duration" | "start";
  zoomed: boolean;
  scroll: number;
  /** Start and duration of the selected row. */
  row: [number, number] | null;
}

/** The list of a run's slow operations: only visible rows exist, so 100,000 rows cost nothing. */
export class StallList {
  readonly place = element("section", { class: "stalls" });
  private readonly rows = element("div", {
    class: "rows",
    role: "listbox",
    tabindex: "0",
    "aria-label": "slow operations",
  });
  private readonly tall = element("div", { class: "tall" });
  private readonly status = element("span", { class: "faint", role: "status" });
  private readonly find = element("input", {
    type: "search",
    placeholder: "search: task, file, operation, cause",
    "aria-label": "find stalls",
  });
  private readonly zoomed = element("input", { type: "checkbox" });
  private readonly starts: Float64Array;
  private order: number[] = [];
  private sort: "duration" | "start" = "duration";
  private at = -1;

  constructor(
    private readonly run: Run,
    private readonly zero: number,
    private readonly time: TimeAxis,
    private readonly selected: (row: number, seconds: [number, number]) => void,
    /** Whether only operations of the recorded command are listed. */
    private own: boolean,
    kept: Kept | null,
  ) {
    const list = run.stalls!;
    this.starts = new Float64Array(list.start.length);
    list.start.reduce((at, delta, row) => (this.starts[row] = at + delta), 0);
    const left = list.seen - list.start.length;
    const by = element(
      "select",
      { "aria-label": "order" },
      element("option", { value: "duration" }, "longest first"),
      element("option", { value: "start" }, "by time"),
    );
    by.addEventListener("change", () => {
      this.sort = by.value as "duration" | "start";
      this.refresh();
    });
    this.find.addEventListener("input", () => this.refresh());
    this.zoomed.addEventListener("change", () => this.refresh());
    time.listen(() => {
      if (this.zoomed.checked) this.refresh();
    });
    this.rows.append(this.tall);
    this.rows.addEventListener("scroll", () => this.draw());
    this.rows.addEventListener("keydown", (event) => this.key(event));
    this.rows.addEventListener("click", (event) => {
      const line = (event.target as HTMLElement).closest<HTMLElement>("[data-at]");
      if (line !== null) this.choose(Number(line.dataset.at));
    });
    this.place.append(
      element("h3", {}, `Slow operations: ${count(list.seen)}`),
      left > 0 ? element("p", { class: "note" }, `${count(left)} shorter operations are not listed.`) : "",
      element(
        "div",
        { class: "bar-of-tools" },
        this.find,
        by,
        element("label", {}, this.zoomed, " only in the zoomed interval"),
        this.status,
      ),
      element(
        "div",
        { class: "row head", "aria-hidden": "true" },
        ...["start", "duration", "operation", "task", "main cause", "file"].map((word) => element("span", {}, word)),
      ),
      this.rows,
      this.onPaper(),
    );
    if (kept !== null)
      [this.find.value, this.zoomed.checked, this.sort, by.value] = [kept.find, kept.zoomed, kept.sort, kept.sort];
    this.refresh();
    if (kept !== null) this.restore(kept);
  }

  /** Lists the recorded command's operations alone, or all. */
  within(own: boolean): void {
    this.own = own;
    this.refresh();
  }

  kept(): Kept {
    const row = this.order[this.at];
    return {
      place: this.place,
      find: this.find.value,
      sort: this.sort,
      zoomed: this.zoomed.checked,
      scroll: this.rows.scrollTop,
      row: row === undefined ? null : [this.starts[row], this.run.stalls!.duration[row]],
    };
  }

  private restore({ scroll, row }: Kept): void {
    if (row !== null)
      this.at = this.order.findIndex((one) => this.starts[one] === row[0] && this.run.stalls!.duration[one] === row[1]);
    // Only elements on the page can be scrolled.
    requestAnimationFrame(() => {
      this.rows.scrollTop = scroll;
      this.draw();
    });
  }

  /** Focuses the element that corresponds to the focused one of another list. */
  focusLike(other: Element): void {
    const label = other.getAttribute("aria-label");
    const alike =
      label === null
        ? other instanceof HTMLInputElement
          ? this.zoomed
          : null
        : this.place.querySelector<HTMLElement>(`[aria-label="${CSS.escape(label)}"]`);
    alike?.focus({ preventScroll: true });
    if (alike === this.find && other instanceof HTMLInputElement)
      this.find.setSelectionRange(other.selectionStart, other.selectionEnd);
  }

  /** The longest, for print: paper does not scroll. */
  private onPaper(): HTMLElement {
    const list = this.run.stalls!;
    const longest = Array.from(list.start.keys())
      .sort((a, b) => list.duration[b] - list.duration[a])
      .slice(0, PRINTED);
    const rows = longest.map((row) => [
      moment(this.starts[row] / 1e6 - this.zero),
      (list.finished[row] === 1 ? "" : "≥ ") + duration(list.duration[row] * 1000),
      list.names[list.operation[row]],
      list.names[list.task[row]],
      `${words(this.run, this.run.causes[list.cause[row]][0])} ${list.share[row]} %`,
      list.path[row] === null ? "" : list.names[list.path[row]!],
    ]);
    return element(
      "div",
      { class: "on-paper" },
      table(["start", "duration", "operation", "task", "main cause", "file"], rows, "wide"),
    );
  }

  /** Lists what a text finds, and shows the list. */
  search(text: string): void {
    this.find.value = text;
    this.refresh();
    this.place.scrollIntoView({ behavior: "smooth", block: "start" });
  }

  /** Filters and sorts again. */
  private refresh(): void {
    const list = this.run.stalls!;
    const sought = this.find.value.trim().toLowerCase();
    const named = list.names.map((name) => name.toLowerCase().includes(sought));
    const caused = this.run.causes.map(
      ([name, words]) => name.includes(sought) || words.toLowerCase().includes(sought),
    );
    const [from, to] = [(this.time.from + this.zero) * 1e6, (this.time.to + this.zero) * 1e6];
    this.order = [];
    for (let row = 0; row < list.start.length; row++) {
      if (this.own && list.own[row] === 0) continue;
      if (this.zoomed.checked && (this.starts[row] > to || this.starts[row] + list.duration[row] < from)) continue;
      const path = list.path[row];
      const found =
        sought === "" ||
        named[list.operation[row]] ||
        named[list.task[row]] ||
        caused[list.cause[row]] ||
        (path !== null && named[path]);
      if (found) this.order.push(row);
    }
    if (this.sort === "duration") this.order.sort((a, b) => list.duration[b] - list.duration[a]);
    this.tall.style.height = `${this.order.length * ROW}px`;
    this.rows.style.height = `${Math.max(this.order.length, 2) * ROW}px`;
    const words = this.own && sought === "" && !this.zoomed.checked ? "of the command" : "found";
    this.status.textContent = this.order.length < list.start.length ? `${count(this.order.length)} ${words}` : "";
    this.at = -1;
    this.rows.scrollTop = 0;
    this.draw();
  }

  draw(): void {
    const first = Math.max(Math.floor(this.rows.scrollTop / ROW) - 4, 0);
    const shown = Math.ceil((this.rows.clientHeight || 300) / ROW) + 8;
    const lines = this.order.slice(first, first + shown).map((row, offset) => this.line(row, first + offset));
    this.tall.replaceChildren(...lines);
  }

  private line(row: number, at: number): HTMLElement {
    const list = this.run.stalls!;
    const path = list.path[row];
    const mark = element("i", { class: "dot" });
    const cause = this.run.causes[list.cause[row]][0];
    mark.style.background = causeColour(cause);
    const line = element(
      "div",
      {
        class: "row",
        role: "option",
        id: `${this.id}-${at}`,
        "data-at": String(at),
        "aria-selected": String(at === this.at),
      },
      element("span", {}, moment(this.starts[row] / 1e6 - this.zero)),
      element("span", {}, (list.finished[row] === 1 ? "" : "≥ ") + duration(list.duration[row] * 1000)),
      element("span", {}, list.names[list.operation[row]]),
      element("span", {}, list.names[list.task[row]]),
      element("span", {}, mark, `${words(this.run, cause)} ${list.share[row]} %`),
      // Where space is short, show the end of the path.
      element("span", { class: "path" }, element("bdi", { dir: "ltr" }, path === null ? "" : list.names[path])),
    );
    line.style.top = `${at * ROW}px`;
    return line;
  }

  private readonly id = `stall-${Math.random().toString(36).slice(2)}`;

  private key(event: KeyboardEvent): void {
    const page = Math.floor(this.rows.clientHeight / ROW);
    const steps: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -1e9,
      End: 1e9,
    };
    const step = steps[event.key];
    if (step === undefined || this.order.length === 0) return;
    event.preventDefault();
    event.stopPropagation();
    const at = Math.min(Math.max(this.at + step, 0), this.order.length - 1);
    if (at * ROW < this.rows.scrollTop) this.rows.scrollTop = at * ROW;
    if ((at + 1) * ROW > this.rows.scrollTop + this.rows.clientHeight)
      this.rows.scrollTop = (at + 1) * ROW - this.rows.clientHeight;
    this.choose(at);
  }

  private choose(at: number): void {
    this.at = at;
    const row = this.order[at];
    this.draw();
    this.rows.setAttribute("aria-activedescendant", `${this.id}-${at}`);
    const from = this.starts[row] / 1e6 - this.zero;
    this.selected(row, [from, from + this.run.stalls!.duration[row] / 1e6]);
  }
}
