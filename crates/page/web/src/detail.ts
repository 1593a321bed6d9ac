import { causeColour } from "./causes";
import { element, table } from "./element";
import { bytes, count, duration, moment, share } from "./format";
import { lanesOf } from "./lanes";
import { words } from "./overview";
import { frames } from "./stack";
import type { Link, Requests, Run, Stall } from "./types";
import { convoy, users } from "./users";

/** Kinds of evidence in the words of the text output. */
const EVIDENCE: Record<string, string> = { event: "traced", stack: "stack", correlation: "aggregated", none: "-" };

/** The details of one stall. */
export function detail(run: Run, stall: Stall, from: number): HTMLElement[] {
  const who = `${stall.operation} by ${stall.task}${stall.path === null ? "" : ` of ${stall.path}`}`;
  const end = `${stall.finished ? "" : ", still blocked at the end"}${stall.began_before ? ", having begun before the recording" : ""}`;
  const causes = stall.causes.map((one) => [
    words(run, one.cause),
    duration(one.time_ns),
    share(one.time_ns / stall.duration_ns),
    EVIDENCE[one.evidence] ?? one.evidence,
    one.detail ?? "",
  ]);
  const parts = [
    element("h3", {}, who),
    element(
      "p",
      {},
      `${stall.finished ? "took" : "blocked for at least"} ${duration(stall.duration_ns)} from ${moment(from, 3)}${end}${stall.cgroup === null ? "" : ` · cgroup ${stall.cgroup}`}`,
    ),
    lanesOf(run, stall),
    table(["cause", "time", "share", "evidence", "longest"], causes, "wide"),
  ];
  parts.push(...convoy(run, stall));
  if (stall.user_stack !== null) parts.push(element("h4", {}, "Where the program waited"), frames(stall.user_stack));
  if (stall.chain.length > 0) {
    const links = stall.chain.map((link, at) => {
      const item = element("li", {}, linkWords(run, link, at), ...holderAt(link));
      item.style.marginLeft = `${at * 1.2}em`;
      return item;
    });
    parts.push(element("h4", {}, "Chain of waits"), element("ol", { class: "chain" }, ...links));
  }
  const request = stall.request;
  if (request !== null) {
    const kinds = (counts: Record<string, number>) =>
      Object.entries(counts)
        .map(([kind, number]) => `${number} ${kind}`)
        .join(", ");
    const facts = [
      `${request.rwbs} on ${request.device_name ?? request.device}, ${bytes(request.bytes)} from sector ${request.sector}, submitted by ${request.task}`,
      request.throttled ? "throttled by its cgroup" : "",
      request.queue_ns === null ? "" : `queue ${duration(request.queue_ns)}`,
      request.device_ns === null ? "" : `device ${duration(request.device_ns)}`,
      kinds(request.in_flight) === "" ? "" : `in flight on arrival: ${kinds(request.in_flight)}`,
      kinds(request.overtaken_by) === "" ? "" : `overtaken by ${kinds(request.overtaken_by)}`,
    ];
    parts.push(
      element("h4", {}, "Request that ended the wait"),
      element("p", {}, facts.filter((one) => one !== "").join("; ")),
      ...users(stall),
    );
  }
  return parts;
}

function linkWords(run: Run, link: Link, at: number): string {
  const holds: Record<string, string> = { yes: "held by ", perhaps: "held by readers, such as " };
  if (link.stopped_it)
    return `← ${link.waits_for === "frozen" ? "frozen" : "stopped"} by ${link.task ?? "unknown task"}`;
  const who = `${at === 0 ? "" : "← "}${holds[link.holds_lock ?? ""] ?? ""}${link.task ?? "unknown task"}`;
  return `${who}: ${duration(link.time_ns)} ${words(run, link.waits_for)}${link.detail === null ? "" : `: ${link.detail}`}`;
}

/** Where the holder of a lock was. */
function holderAt(link: Link): HTMLElement[] {
  const kernel = (link.kernel_stack ?? []).join(" < ");
  const parts: HTMLElement[] = [];
  if (kernel !== "" && !(link.detail ?? "").includes(kernel))
    parts.push(element("div", { class: "faint" }, `asleep in ${kernel}`));
  if (link.user_stack !== null) {
    const place = link.user_stack_at === "release" ? "where it released the lock" : "where it was in its own code";
    parts.push(element("div", { class: "faint" }, place), frames(link.user_stack));
  }
  return parts;
}

/** Requests in flight between two moments of the run (ms): the longest, in order of time. */
export function around(requests: Requests, fromMs: number, toMs: number, zero: number, most = 30): HTMLElement {
  const found: { row: number; begin: number; took: number }[] = [];
  let begin = 0;
  requests.begin.forEach((delta, row) => {
    begin += delta;
    const took = requests.done[row];
    if (begin / 1000 <= toMs && (begin + took) / 1000 >= fromMs) found.push({ row, begin, took });
  });
  if (found.length === 0) return element("p", { class: "faint" }, "No request of this interval was recorded.");
  found.sort((a, b) => b.took - a.took);
  const shown = found.slice(0, most).sort((a, b) => a.begin - b.begin);
  const rows = shown.map(({ row, begin, took }) => {
    const name = (column: number[]) => requests.names[column[row]];
    const issued = requests.issued[row];
    const inserted = requests.inserted[row];
    const queue = issued === null || inserted === null ? "–" : duration((issued - inserted) * 1000);
    return [
      moment(begin / 1e6 - zero, toMs - fromMs < 10_000 ? 3 : 1),
      life(begin / 1000, requests.throttled[row] === 1, inserted, issued, took, fromMs, toMs),
      name(requests.kind),
      name(requests.device),
      bytes(requests.bytes[row]),
      duration(took * 1000),
      queue,
      issued === null ? "–" : duration((took - issued) * 1000),
      requests.throttled[row] === 1 ? "throttled" : "",
      name(requests.overtaken),
      name(requests.task),
    ];
  });
  const more = found.length > shown.length ? `; the ${most} longest of ${count(found.length)} requests` : "";
  return element(
    "div",
    {},
    element("p", { class: "faint" }, `Bars: before the queue, in the queue, at the device${more}.`),
    table(
      ["start", "", "kind", "device", "size", "total", "queue", "device", "cgroup", "overtaken by", "task"],
      rows,
      "wide",
    ),
  );
}

/** Draws a request's life within the interval. */
function life(
  beginMs: number,
  throttled: boolean,
  inserted: number | null,
  issued: number | null,
  done: number,
  from: number,
  to: number,
): HTMLElement {
  const picture = element("div", { class: "life", "aria-hidden": "true" });
  const x = (us: number) => Math.min(Math.max((beginMs + us / 1000 - from) / Math.max(to - from, 1e-3), 0), 1) * 100;
  const queued = inserted ?? issued ?? done;
  const stages: [number, number, string, string][] = [
    [0, queued, throttled ? "io_throttle" : "request_wait", "3px"],
    [queued, issued ?? done, "scheduler_queue", "7px"],
    [issued ?? done, done, "device", "11px"],
  ];
  for (const [begin, end, cause, height] of stages) {
    if (end <= begin) continue;
    const bar = element("i");
    Object.assign(bar.style, {
      left: `${x(begin)}%`,
      width: `max(${x(end) - x(begin)}%, 1px)`,
      background: causeColour(cause),
      height,
    });
    picture.append(bar);
  }
  return picture;
}
