// Says whether dist/ was built from the sources that are here, and is what was built then.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sourcesHash } from "./sources.mjs";

// Not import.meta.dirname, which node lacks before 20.11.
const root = fileURLToPath(new URL(".", import.meta.url));
const sha = (name) => "sha256-" + createHash("sha256").update(readFileSync(join(root, "dist", name))).digest("base64");
const [script, style, sources] = readFileSync(join(root, "dist", "hashes.txt"), "utf8").split(/\s+/);
const wrong = [];
if (sources !== sourcesHash(root)) wrong.push("dist/ was built from other sources");
if (script !== sha("page.js")) wrong.push("dist/page.js is not what was built");
if (style !== sha("page.css")) wrong.push("dist/page.css is not what was built");
if (wrong.length > 0) {
  console.error(`${wrong.join("; ")}: run 'make page' and commit crates/page/web/dist`);
  process.exit(1);
}
