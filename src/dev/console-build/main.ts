// Builds the console into dist/console: `npm run build:console`. With `--if-older`, only where its sources have changed since.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { build } from "vite";
import { fingerprintOfSources } from "./fingerprint.ts";
import { BUILT, STAMP } from "./places.ts";

const fingerprint = fingerprintOfSources();
if (!process.argv.includes("--if-older") || !isBuiltFrom(fingerprint)) await buildConsole();

/** Builds beside the old files and puts the new ones in their place at once: somebody may be starting from them. */
async function buildConsole(): Promise<void> {
  const place = path.dirname(BUILT);
  mkdirSync(place, { recursive: true });
  const folder = mkdtempSync(path.join(place, ".console-"));
  try {
    await build({ configFile: path.join(import.meta.dirname, "vite.config.ts"), build: { outDir: folder } });
    rmSync(BUILT, { recursive: true, force: true });
    renameSync(folder, BUILT);
    writeFileSync(STAMP, fingerprint);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function isBuiltFrom(fingerprint: string): boolean {
  return existsSync(BUILT) && existsSync(STAMP) && readFileSync(STAMP, "utf8") === fingerprint;
}
