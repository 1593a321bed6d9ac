import "uplot/dist/uPlot.min.css";
import "./style.css";
import { Page } from "./page";
import { source } from "./source";
import { element } from "./element";
import { groupTables, isGrouped, only, sourceOf, typical } from "./groups";
import type { Memory } from "./page";
import type { Document } from "./types";

/** Minimum interval between polls of a live run: reading it must not become a load itself. */
const POLL_MS = 3_000;
const REST = 20;

async function open(): Promise<void> {
  const place = document.getElementById("app")!;
  const data = source();
  let whole = await data.document();
  let shown = isGrouped(whole.runs) ? typical(whole.runs) : whole.runs.map((_, number) => number);
  const draw = (memory?: Memory): Page => {
    const groups = isGrouped(whole.runs) ? groupTables(whole.runs, shown, choose) : null;
    return new Page(place, sourceOf(data, shown), only(whole, shown), groups, memory);
  };
  const choose = (chosen: number[]) => {
    shown = chosen;
    page = draw();
  };
  let page = draw();
  document.documentElement.dataset.ready = "yes";
  let state = await data.state();
  let took = 0;
  const poll = async () => {
    const began = performance.now();
    try {
      const now = await data.state();
      if (now !== state) {
        state = now;
        const grown: Document = await data.document();
        const further = page
          .memory()
          .further.map(async (one) => ({ ...one, ...(await data.series(shown[one.run], one.metric)) }));
        const again = await Promise.all(further);
        whole = grown;
        page = draw({ ...page.memory(), further: again });
        took = performance.now() - began;
      }
      if (now !== null) setTimeout(poll, Math.max(POLL_MS, took * REST));
    } catch (error) {
      page.notify(`The server no longer responds: ${error instanceof Error ? error.message : error}`);
    }
  };
  if (state !== null) setTimeout(poll, POLL_MS);
}

open().catch((error: unknown) => {
  const text = error instanceof Error ? error.message : String(error);
  document.getElementById("app")!.replaceChildren(element("p", { class: "note" }, `The page cannot be shown: ${text}`));
  throw error;
});
