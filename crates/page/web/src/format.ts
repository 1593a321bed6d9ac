/** Figures for people: three digits and a suitable unit. */

function digits(value: number): string {
  const size = Math.abs(value);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  if (size < 0.001) return "< 0.001";
  if (size < 9.995) return String(Number(value.toFixed(size < 0.1 ? 3 : 2)));
  return size < 99.95 ? value.toFixed(1) : Math.round(value).toLocaleString("en");
}

function scaled(value: number, steps: [number, string][]): string {
  for (const [size, name] of steps) {
    if (Math.abs(value) >= size * 0.9995) return `${digits(value / size)} ${name}`;
  }
  const [size, name] = steps[steps.length - 1];
  return `${digits(value / size)} ${name}`;
}

export function duration(ns: number): string {
  if (ns >= 600e9)
    return scaled(ns, [
      [3600e9, "h"],
      [60e9, "min"],
    ]);
  return scaled(ns, [
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "µs"],
    [1, "ns"],
  ]);
}

export function bytes(value: number): string {
  return scaled(value, [
    [2 ** 40, "TiB"],
    [2 ** 30, "GiB"],
    [2 ** 20, "MiB"],
    [2 ** 10, "KiB"],
    [1, "B"],
  ]);
}

export function count(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return value.toLocaleString("en");
  return scaled(value, [
    [1e9, "G"],
    [1e6, "M"],
    [1, ""],
  ]).trim();
}

export function share(value: number): string {
  const percent = value * 100;
  return percent > 0 && percent < 0.1 ? "< 0.1 %" : `${digits(percent)} %`;
}

/** A value of a chart. */
export function value(amount: number | null | undefined, unit: string): string {
  if (amount === null || amount === undefined) return "–";
  switch (unit) {
    case "ns":
      return duration(amount);
    case "bytes":
      return bytes(amount);
    case "bytes/s":
      return `${bytes(amount)}/s`;
    case "share":
      return share(amount);
    case "/s":
      return `${count(amount)}/s`;
    case "s":
      return duration(amount * 1e9);
    default:
      return count(amount);
  }
}

/** A moment of the run, 12:03.4 after its start, with `precise` decimals of a second. */
export function moment(seconds: number, precise = 1): string {
  const sign = seconds < 0 ? "-" : "";
  // Rounded first: 59.96 s are a minute.
  const all = Number(Math.abs(seconds).toFixed(precise));
  const hours = Math.floor(all / 3600);
  const minutes = Math.floor(all / 60) % 60;
  const rest = (all % 60).toFixed(precise).padStart(precise > 0 ? precise + 3 : 2, "0");
  if (hours > 0) return `${sign}${hours}:${String(minutes).padStart(2, "0")}:${rest}`;
  return all >= 60 ? `${sign}${minutes}:${rest}` : `${sign}${(all % 60).toFixed(precise)} s`;
}

/** Decimals of a second that show multiples of a step exactly. */
export function digitsFor(step: number): number {
  for (let digits = 0; digits < 6; digits++) {
    const scaled = step * 10 ** digits;
    if (Math.abs(scaled - Math.round(scaled)) < 1e-6) return digits;
  }
  return 6;
}
