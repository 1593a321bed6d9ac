import { element, table } from "./element";
import { bytes, count, duration, share } from "./format";
import type { Convoy, Run, Stall, Submitter } from "./types";

/** Rows of the table: the lists hold eight each. */
const SHOWN = 12;

/** What one process had at the disk of the request that a stall waited for. */
interface User {
  name: string;
  cgroup: string;
  amounts: (Submitter | null)[];
}

function merged(lists: (Submitter[] | null)[]): User[] {
  const users = new Map<string, User>();
  lists.forEach((list, column) => {
    for (const one of list ?? []) {
      const name = `${one.task ?? "unknown"}${one.own ? " (itself)" : ""}`;
      const key = JSON.stringify([name, one.cgroup]);
      const user = users.get(key) ?? { name, cgroup: one.cgroup ?? "", amounts: lists.map(() => null) };
      user.amounts[column] = one;
      users.set(key, user);
    }
  });
  const most = (user: User) => Math.max(...user.amounts.map((one) => one?.bytes ?? 0));
  return [...users.values()].sort((a, b) => most(b) - most(a));
}

/** Whose requests were in flight when the request came, overtook it, and were served while the task waited. */
export function users(stall: Stall): HTMLElement[] {
  const { request, served } = stall;
  if (request === null) return [];
  const columns: { head: string; list: Submitter[] | null; all: number }[] = [
    { head: "in flight on arrival", list: request.in_flight_of, all: 0 },
    { head: "overtook it", list: request.overtakers, all: 0 },
    { head: "served while it waited", list: served?.by ?? null, all: served?.bytes ?? 0 },
  ].filter((one) => one.list !== null);
  if (columns.length === 0) return [];
  const cell = (one: Submitter | null, all: number) => {
    if (one === null) return "–";
    return `${count(one.requests)}, ${bytes(one.bytes)}${all > 0 ? ` (${share(one.bytes / all)})` : ""}`;
  };
  const found = merged(columns.map((one) => one.list));
  const rows = found
    .slice(0, SHOWN)
    .map((user) => [user.name, user.cgroup, ...user.amounts.map((one, at) => cell(one, columns[at].all))]);
  const more = found.length > rows.length ? `; ${count(found.length - rows.length)} more processes` : "";
  return [
    element("h4", {}, "Whose requests"),
    element(
      "p",
      { class: "faint" },
      `By process: requests and bytes. In flight and overtaking: those that tasks waited for${served === null ? "" : "; served: approximate, sums of half seconds"}${more}.`,
    ),
    table(["process", "cgroup", ...columns.map((one) => one.head)], rows, "wide"),
  ];
}

/** The convoy that the stall was part of: tasks that waited at once for one holder. */
export function convoy(run: Run, stall: Stall): HTMLElement[] {
  const end = stall.start_ns + stall.duration_ns;
  const isOf = (one: Convoy) =>
    one.start_ns < end &&
    one.end_ns > stall.start_ns &&
    stall.causes.some((cause) => cause.cause === one.cause) &&
    one.longest.some((victim) => victim.task === stall.task);
  const found = run.explanation?.convoys.find(isOf);
  if (found === undefined) return [];
  const holder = found.holder === null ? "one holder" : found.holder;
  const times = found.times > 1 ? `, ${count(found.times)} times` : "";
  const text = `${count(found.at_once)} tasks waited at once for ${holder}${times}: ${duration(found.time_ns)} together, the longest ${duration(found.longest_ns)}`;
  return [element("p", {}, text)];
}
