/**
 * Elements. Names come from the recorded machine and may contain anything. They become text nodes here; this program
 * never makes HTML from a string.
 */
type Child = Node | string | null | undefined;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | boolean | undefined> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== undefined) made.setAttribute(name, value);
  }
  for (const child of children) {
    if (child !== null && child !== undefined) made.append(typeof child === "string" ? printable(child) : child);
  }
  return made;
}

/** Shows control characters and those that change the direction of text as escapes. */
export function printable(text: string): string {
  return text.replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (c) => `\\u{${c.charCodeAt(0).toString(16)}}`,
  );
}

export function table(head: string[], rows: Child[][], classes = ""): HTMLElement {
  const line = (cells: Child[], tag: "th" | "td") =>
    element(
      "tr",
      {},
      ...cells.map((cell, at) =>
        element(
          tag,
          tag === "th" ? { scope: "col", class: at === 0 ? "" : "n" } : { class: at === 0 ? "" : "n" },
          cell,
        ),
      ),
    );
  return element(
    "div",
    { class: "scroll" },
    element(
      "table",
      { class: classes },
      element("thead", {}, line(head, "th")),
      element("tbody", {}, ...rows.map((cells) => line(cells, "td"))),
    ),
  );
}
