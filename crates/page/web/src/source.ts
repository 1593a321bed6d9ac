import type { Chart, Axis, Document, Requests, Stall } from "./types";

/** The source of the data: this file, or the server of this page. */
export interface Source {
  readonly served: boolean;
  document(): Promise<Document>;
  stall(run: number, number: number): Promise<Stall | null>;
  requests(run: number, fromMs: number, toMs: number, find: string): Promise<Requests>;
  metrics(run: number): Promise<[number, string][]>;
  series(run: number, metric: number): Promise<{ chart: Chart; axis: Axis }>;
  /** Changes when the run has grown; null: it has ended. */
  state(): Promise<string | null>;
}

async function get<T>(path: string): Promise<T> {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

const server: Source = {
  served: true,
  document: () => get("api/document"),
  stall: (run, number) => get(`api/stall?run=${run}&number=${number}`),
  requests: (run, from, to, find) =>
    get(`api/requests?run=${run}&from_ms=${Math.floor(from)}&to_ms=${Math.ceil(to)}&find=${encodeURIComponent(find)}`),
  metrics: (run) => get(`api/metrics?run=${run}`),
  series: (run, metric) => get(`api/series?run=${run}&metric=${metric}`),
  state: () => get("api/state"),
};

export function source(): Source {
  const packed = document.getElementById("data");
  if (packed === null) return server;
  const unavailable = () => Promise.reject(new Error("this file holds only what it shows"));
  return {
    served: false,
    document: async () => {
      const letters = atob(packed.textContent ?? "");
      const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
      packed.remove();
      const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      return (await new Response(unpacked).json()) as Document;
    },
    stall: () => Promise.resolve(null),
    requests: unavailable,
    metrics: unavailable,
    series: unavailable,
    state: () => Promise.resolve(null),
  };
}
