/** Colours of Okabe and Ito, distinct for colour-blind readers; dashes and hatches distinguish without colour. */
const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#a8558a", "#b07d00", "#3a8fc0", "#555555", "#8a7a00", "#7a3b00"];
const DARK = ["#56b4e9", "#e69f00", "#2ac79b", "#e39cc7", "#f0e442", "#6ea8ff", "#b8bdc6", "#ff8a5c", "#9be564"];
export const DASHES: number[][] = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [14, 4], [1, 4], [6, 6]];

let chosen: "dark" | "light" | null = null;

export function isDark(): boolean {
  return chosen === null ? matchMedia("(prefers-color-scheme: dark)").matches : chosen === "dark";
}

/** `null`: the browser's preference. */
export function choose(theme: "dark" | "light" | null): void {
  chosen = theme;
  if (theme === null) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function choice(): "dark" | "light" | null {
  return chosen;
}

export function colour(at: number): string {
  const colours = isDark() ? DARK : LIGHT;
  return colours[at % colours.length];
}

export function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** The fill of an area: a colour and one of eight hatch patterns. */
export function hatch(paint: string, pattern: number): CanvasPattern | string {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 10;
  const pen = tile.getContext("2d");
  if (pen === null) return paint;
  pen.fillStyle = paint;
  pen.fillRect(0, 0, 10, 10);
  pen.strokeStyle = isDark() ? "rgba(0,0,0,.45)" : "rgba(255,255,255,.6)";
  pen.lineWidth = 1.5;
  const line = (...points: number[]) => {
    pen.beginPath();
    pen.moveTo(points[0], points[1]);
    pen.lineTo(points[2], points[3]);
    pen.stroke();
  };
  const ways: (() => void)[] = [
    () => {},
    () => {
      line(-2, 12, 12, -2);
      line(-7, 7, 7, -7);
      line(3, 17, 17, 3);
    },
    () => {
      pen.fillStyle = pen.strokeStyle;
      pen.fillRect(2, 2, 2.5, 2.5);
      pen.fillRect(7, 7, 2.5, 2.5);
    },
    () => line(0, 5, 10, 5),
    () => {
      line(-2, -2, 12, 12);
      line(3, -7, 17, 7);
      line(-7, 3, 7, 17);
    },
    () => line(5, 0, 5, 10),
    () => {
      line(0, 5, 10, 5);
      line(5, 0, 5, 10);
    },
    () => {
      line(-2, 12, 12, -2);
      line(-2, -2, 12, 12);
    },
  ];
  ways[pattern % ways.length]();
  return pen.createPattern(tile, "repeat") ?? paint;
}

/** The shade of a count, from 0 to 1: lightness changes monotonically, so the scale works without colour. */
export function shade(share: number): string {
  const stops = isDark()
    ? [
        [22, 40, 76],
        [58, 82, 122],
        [112, 119, 124],
        [168, 156, 112],
        [222, 196, 84],
        [255, 234, 70],
      ]
    : [
        [206, 222, 240],
        [150, 190, 222],
        [92, 150, 200],
        [44, 104, 168],
        [16, 62, 124],
        [4, 26, 70],
      ];
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  const mixed = stops[low].map((part, which) => Math.round(part + (stops[low + 1][which] - part) * (at - low)));
  return `rgb(${mixed.join(",")})`;
}
