import { around } from "./detail";
import { element } from "./element";
import type { Source } from "./source";
import type { TimeAxis } from "./time";
import type { Axis, Chart, Run } from "./types";

const SHOWN = 40;

/** Any counter and any request of a run, by search: only a server has them. */
export function search(
  source: Source, run: Run, number: number, zero: number, time: TimeAxis, add: (chart: Chart, axis: Axis) => void,
): HTMLElement {
  const found = element("div", { class: "found" });
  const counters = element("input", { type: "search", placeholder: "any counter: pgscan, loop0, xfs.log …", "aria-label": "find counters" });
  let metrics: Promise<[number, string][]> | null = null;
  counters.addEventListener("input", async () => {
    metrics ??= source.metrics(number);
    const wanted = counters.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const fitting = (await metrics).filter(([, name]) => wanted.every((word) => name.toLowerCase().includes(word)));
    const buttons = (wanted.length === 0 ? [] : fitting.slice(0, SHOWN)).map(([metric, name]) => {
      const button = element("button", { type: "button" }, name);
      button.addEventListener("click", async () => {
        const { chart, axis } = await source.series(number, metric);
        add(chart, axis);
      });
      return button;
    });
    const more = fitting.length > SHOWN && wanted.length > 0 ? [element("span", { class: "faint" }, `and ${fitting.length - SHOWN} more`)] : [];
    found.replaceChildren(...buttons, ...more);
  });
  const listed = element("div");
  const find = element("input", { type: "search", placeholder: "requests: kind, device, task, sector", "aria-label": "find requests" });
  const look = element("button", { type: "submit" }, "Requests in the time zoomed to");
  const form = element("form", { class: "bar-of-tools" }, find, look);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const [from, to] = [(time.from + zero) * 1000, (time.to + zero) * 1000];
    const requests = await source.requests(number, from, to, find.value);
    const left = (requests.left_out ?? 0) > 0 ? element("p", { class: "note" }, `${requests.left_out} shorter ones are left out; zoom in.`) : "";
    listed.replaceChildren(left, around(requests, from, to, zero, 200));
  });
  return element("section", { class: "search" }, element("h3", {}, `Look for more in ${run.name}`),
    element("div", { class: "bar-of-tools" }, counters), found, form, listed);
}
