import { causeColour } from "./causes";
import { element } from "./element";
import { bytes, duration } from "./format";
import { words } from "./overview";
import type { Piece, Run, Stall } from "./types";

interface Lane {
  label: string;
  title: string;
  pieces: Piece[];
}

/** The stall on one axis of time: its own task, each task of its chain, the requests; causes as colours. */
export function lanesOf(run: Run, stall: Stall): HTMLElement {
  const { tasks, requests, more_requests: more } = stall.lanes;
  const all: Lane[] = [
    ...tasks.map((lane, at) => ({
      label: lane.task,
      title: at === 0 ? "the operation's own task" : "a task of its chain of waits",
      pieces: lane.pieces,
    })),
    ...requests.map((lane) => ({
      label: `${lane.rwbs} ${bytes(lane.bytes)} ${lane.device}`,
      title: `sector ${lane.sector}${lane.task === null ? "" : `, submitted by ${lane.task}`}`,
      pieces: lane.pieces,
    })),
  ];
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) =>
    element("span", {}, share === 0 ? "0" : duration(share * stall.duration_ns)),
  );
  return element(
    "div",
    { class: "lanes" },
    legend(run, all),
    ...all.flatMap((lane) => [
      element("span", { class: "label", title: `${lane.label}: ${lane.title}` }, lane.label),
      bar(run, stall, lane),
    ]),
    element("span"),
    element("div", { class: "ticks" }, ...ticks),
    element(
      "p",
      { class: "faint" },
      `Tasks, then requests. Where a lane is empty, nothing is recorded of it.${more > 0 ? ` ${more} shorter requests are not drawn.` : ""}`,
    ),
  );
}

function bar(run: Run, stall: Stall, lane: Lane): HTMLElement {
  const place = element("div", { class: "lane" });
  for (const [from, to, cause] of lane.pieces) {
    const [name, text] = run.causes[cause];
    const piece = element("i", { title: `${lane.label}: ${text}, ${duration(to - from)} from ${duration(from)}` });
    const share = (ns: number) => `${(100 * ns) / Math.max(stall.duration_ns, 1)}%`;
    Object.assign(piece.style, {
      left: share(from),
      width: `max(${share(to - from)}, 1px)`,
      background: causeColour(name),
    });
    place.append(piece);
  }
  return place;
}

/** The causes that are drawn, those of the most time first. */
function legend(run: Run, all: Lane[]): HTMLElement {
  const times = new Map<number, number>();
  for (const [from, to, cause] of all.flatMap((lane) => lane.pieces))
    times.set(cause, (times.get(cause) ?? 0) + to - from);
  const causes = [...times].sort((a, b) => b[1] - a[1]).map(([cause]) => run.causes[cause][0]);
  return element(
    "p",
    { class: "legend" },
    ...causes.map((cause) => {
      const mark = element("i", { class: "dot" });
      mark.style.background = causeColour(cause);
      return element("span", {}, mark, words(run, cause));
    }),
  );
}
