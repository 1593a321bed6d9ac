import { colour, hatch, isDark } from "./theme";

/** One colour and one hatch for each cause, wherever it is drawn. Relatives have neighbouring hues: memory red, disk
 * blue, limits orange, file systems purple, locks green. Common causes differ in their hatch. */
const PAINTS: Record<string, [light: string, dark: string, hatch: number]> = {
  direct_reclaim: ["#b3261e", "#ff8a80", 4],
  reclaim_throttle: ["#cc5a4d", "#ffb4a2", 5],
  shrinker: ["#8e2a5a", "#f48fb1", 6],
  compaction: ["#7f1d1d", "#e57373", 7],
  out_of_memory: ["#5c0f0a", "#ff5c5c", 1],
  swap: ["#c2185b", "#ff80ab", 3],
  page_fault: ["#94335f", "#e7a1c4", 2],
  dirty_throttle: ["#b07d00", "#f0e442", 6],
  writeback_wait: ["#8a7a00", "#cfc34a", 4],
  io_throttle: ["#d55e00", "#e69f00", 1],
  cpu_throttle: ["#9a4a00", "#c98b4a", 3],
  journal: ["#a8558a", "#e39cc7", 3],
  fs_log: ["#7d4fa3", "#c3a1ec", 7],
  fs_transaction: ["#5a3f8c", "#a58be0", 5],
  device: ["#0072b2", "#56b4e9", 0],
  device_error: ["#1d3fae", "#86a8ff", 3],
  scheduler_queue: ["#4a9ccf", "#8ccbf5", 6],
  request_wait: ["#00466e", "#3f86c9", 4],
  io_worker: ["#2f7f9e", "#79c7dd", 7],
  network_fs: ["#3d5a98", "#8fa8e8", 2],
  lock: ["#009e73", "#2ac79b", 2],
  frozen: ["#00767a", "#3fc1c6", 1],
  fanotify: ["#3b7d3f", "#8fd694", 6],
  peer: ["#5b7f95", "#a9c6d6", 5],
  cpu_wait: ["#6b7a1f", "#b9cf4e", 5],
  stopped: ["#6d5b4f", "#bcaaa4", 3],
  sleep: ["#8a7466", "#d7c8c0", 6],
  running: ["#87919c", "#7d8895", 0],
  unexplained: ["#bcc3cb", "#545d68", 7],
};
/** Of the causes that share an area. */
const OTHERS = 6;

export function causeColour(cause: string): string {
  const paint = PAINTS[cause];
  return paint === undefined ? colour(OTHERS) : paint[isDark() ? 1 : 0];
}

/** The fill of a cause's area. */
export function causeHatch(cause: string): CanvasPattern | string {
  return hatch(causeColour(cause), PAINTS[cause]?.[2] ?? OTHERS);
}
