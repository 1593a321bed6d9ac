import { element } from "./element";
import type { Answer, AnswerLine } from "./types";

/** The headline. */
export function headlineOf(answer: Answer): HTMLElement {
  return element("h2", { class: "headline" }, answer.headline.text);
}

/** The labelled lines: who, why, blocker, fix, sure; how sure first, where most is unexplained. */
export function linesOf(answer: Answer): HTMLElement {
  const texts = (lines: AnswerLine[]) => lines.map((line) => element("div", {}, line.text));
  const entry = (label: string, ...parts: HTMLElement[]) =>
    parts.length === 0 ? [] : [element("dt", {}, label), element("dd", {}, ...parts)];
  const sure = entry("sure", ...texts(answer.sure));
  const { lines, command, predicted } = answer.fix;
  const fix = [
    ...texts(lines),
    ...(command === null ? [] : [commandOf(command)]),
    ...(predicted === null ? [] : texts([predicted.line])),
  ];
  const rest = [
    ...entry("who", ...texts(answer.who)),
    ...entry("why", ...texts(answer.why)),
    ...entry("blocker", ...texts(answer.blocker)),
    ...entry("fix", ...fix),
  ];
  return element("dl", { class: "answer" }, ...(answer.sure_first ? [...sure, ...rest] : [...rest, ...sure]));
}

/** A command with a button that copies it. A file of the disk may not use the clipboard's own interface. */
function commandOf(command: string): HTMLElement {
  const code = element("code", {}, command);
  const button = element("button", { type: "button", title: "Copy the command" }, "copy");
  button.addEventListener("click", () => {
    getSelection()?.selectAllChildren(code);
    button.textContent = document.execCommand("copy") ? "copied" : "selected";
  });
  return element("div", { class: "command" }, code, button);
}
