// One hash of everything that the bundle is made from. It needs nothing but node.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

export function sourcesHash(root) {
  const fixed = ["package.json", "package-lock.json", "tsconfig.json", "vite.config.ts", "sources.mjs"];
  const sources = readdirSync(join(root, "src")).sort().map((name) => join("src", name));
  const hash = createHash("sha256");
  for (const name of [...fixed, ...sources]) {
    hash.update(name).update("\0").update(readFileSync(join(root, name))).update("\0");
  }
  return hash.digest("hex");
}
