/** A model's histograms: Lustre's `rpc_stats` counts by value, argdist by powers of two of ns. */
import { element, table } from "./element";
import { count, duration, share } from "./format";
import { colour } from "./theme";
import type { Histogram } from "./types";

const WIDTH = 160;

/** Contiguous ranges of times: empty ranges are shown, too. */
function rows(histogram: Histogram): [string, number][] {
  if (histogram.form === "rpc_stats") return histogram.rows.map(([value, amount]) => [count(value), amount]);
  const powers = new Map<number, number>();
  for (const [value, amount] of histogram.rows) {
    const power = Math.floor(Math.log2(Math.max(value, 1)));
    powers.set(power, (powers.get(power) ?? 0) + amount);
  }
  const first = Math.min(...powers.keys());
  const last = Math.max(...powers.keys());
  return Array.from({ length: last - first + 1 }, (_, at) => first + at).map((power) => [
    `${duration(2 ** power)} to ${duration(2 ** (power + 1))}`,
    powers.get(power) ?? 0,
  ]);
}

function bar(part: number): HTMLElement {
  const drawn = element("canvas", { class: "bar", width: String(WIDTH), height: "12", "aria-hidden": "true" });
  const pen = drawn.getContext("2d");
  if (pen !== null && part > 0) {
    pen.fillStyle = colour(0);
    pen.fillRect(0, 0, Math.max(part * WIDTH, 1), 12);
  }
  return drawn;
}

/** Each histogram as a table with bars; the longest bar is the most frequent row. */
export function histograms(found: Histogram[]): HTMLElement | null {
  const filled = found.filter((histogram) => histogram.rows.some(([, amount]) => amount > 0));
  if (filled.length === 0) return null;
  return element(
    "section",
    { class: "histograms" },
    ...filled.map((histogram) => {
      const all = rows(histogram);
      const total = all.reduce((sum, [, amount]) => sum + amount, 0);
      const most = Math.max(...all.map(([, amount]) => amount));
      let soFar = 0;
      const lines = all.map(([label, amount]) => {
        soFar += amount;
        return [label, bar(amount / most), count(amount), share(amount / total), share(soFar / total)];
      });
      return element(
        "div",
        {},
        element("h3", {}, histogram.name),
        table(["", "", "count", "share", "cumulative"], lines),
      );
    }),
  );
}
