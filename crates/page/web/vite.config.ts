import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vite";
// @ts-expect-error plain JavaScript, shared with check.mjs
import { sourcesHash } from "./sources.mjs";

const root = import.meta.dirname;

/** Writes what a content policy and the check of the committed bundle need. */
function hashes() {
  return {
    name: "hashes",
    closeBundle() {
      const sha = (name: string) =>
        "sha256-" + createHash("sha256").update(readFileSync(join(root, "dist", name))).digest("base64");
      const lines = [sha("page.js"), sha("page.css"), sourcesHash(root)];
      writeFileSync(join(root, "dist", "hashes.txt"), lines.join("\n") + "\n");
    },
  };
}

export default defineConfig({
  root,
  plugins: [hashes()],
  build: {
    target: "es2022",
    outDir: "dist",
    emptyOutDir: true,
    modulePreload: false,
    lib: { entry: "src/main.ts", formats: ["iife"], name: "page", fileName: () => "page.js", cssFileName: "page" },
  },
});
