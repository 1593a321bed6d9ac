import "uplot/dist/uPlot.min.css";
import "./style.css";
import { Page } from "./page";
import { source } from "./source";
import { element } from "./element";

/** Minimum interval between polls of a live run: reading it must not become a load itself. */
const POLL_MS = 3_000;
const REST = 20;

async function open(): Promise<void> {
  const place = document.getElementById("app")!;
  const data = source();
  let page = new Page(place, data, await data.document());
  document.documentElement.dataset.ready = "yes";
  let state = await data.state();
  let took = 0;
  const poll = async () => {
    const began = performance.now();
    try {
      const now = await data.state();
      if (now !== state) {
        state = now;
        const grown = await data.document();
        const memory = page.memory();
        const again = memory.further.map(async (one) => ({ ...one, ...(await data.series(one.run, one.metric)) }));
        page = new Page(place, data, grown, { ...page.memory(), further: await Promise.all(again) });
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
