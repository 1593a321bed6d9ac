import { element } from "./element";
import { count, duration } from "./format";
import type { Run } from "./types";

/** Choices of what would help. */
const HELPS = 4;

/** What would help, as bars of the predicted time beside the recorded one. */
export function help(run: Run): HTMLElement | null {
  const found = run.what_if;
  if (found === undefined || found.choices.length === 0) return null;
  const all = Math.max(found.recorded.total_ns, 1);
  const bar = (ns: number, kind: string) => {
    const made = element("i", { class: kind, "aria-hidden": "true" });
    made.style.width = `${Math.max((ns / all) * 100, 0.5)}%`;
    return element("div", { class: "track" }, made);
  };
  const line = (title: string, titles: string, ns: number, slow: number, kind: string) =>
    element(
      "div",
      { class: "choice", title: titles },
      element("div", {}, title),
      bar(ns, kind),
      element("div", { class: "n" }, `${duration(ns)}, ${slow === 0 ? "none" : count(slow)} slow`),
    );
  const recorded = line(
    "recorded",
    "what the slow operations took",
    found.recorded.total_ns,
    found.recorded.slow_operations,
    "recorded",
  );
  const lines = found.choices.slice(0, HELPS).map((choice) => {
    const { slow_operations: slow, total_ns: total } = choice.predicted;
    const risk = choice.remedies
      .map((one) => `${one.title}; risk: ${one.risk}${one.live ? "; can be tried live" : ""}`)
      .join("\n");
    const range = `${duration(total.low)} to ${duration(total.high)}`;
    return line(
      `${choice.title}${choice.at_most ? " (at best)" : ""}`,
      `${range}\n${risk}`,
      total.value,
      slow.value,
      "predicted",
    );
  });
  return element(
    "figure",
    { class: "help" },
    element("figcaption", {}, "What would help (predicted)"),
    recorded,
    ...lines,
    element(
      "details",
      { class: "faint" },
      element("summary", {}, "assumptions"),
      element("ul", {}, ...found.assumptions.map((one) => element("li", {}, one))),
    ),
  );
}
