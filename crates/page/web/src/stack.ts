import { element } from "./element";
import type { UserFrame } from "./types";

/** Functions shown before the rest is folded. */
const SHOWN = 8;

/** A program's own functions, innermost first. */
export function frames(stack: UserFrame[]): HTMLElement {
  const line = (frame: UserFrame) =>
    frame === null
      ? element("li", { class: "faint" }, "its callers are unknown")
      : element(
          "li",
          { title: frame.module ?? "" },
          functionOf(frame),
          " ",
          element("span", { class: "faint" }, placeOf(frame)),
        );
  const list = (part: UserFrame[]) => element("ol", { class: "frames" }, ...part.map(line));
  const rest = stack.slice(SHOWN);
  return element(
    "div",
    {},
    list(stack.slice(0, SHOWN)),
    rest.length === 0
      ? null
      : element("details", {}, element("summary", {}, `${rest.length} callers more`), list(rest)),
  );
}

function base(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function functionOf(frame: NonNullable<UserFrame>): string {
  return frame.function ?? `${base(frame.module ?? "an unknown file")}+0x${frame.offset.toString(16)}`;
}

function placeOf(frame: NonNullable<UserFrame>): string {
  if (frame.file !== null) return `${base(frame.file)}${frame.line === null ? "" : `:${frame.line}`}`;
  return frame.function === null ? "" : base(frame.module ?? "");
}
