// Builds the console into dist/console: `npm run build:console`.
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { build } from "vite";
import { fingerprintOfSources } from "./fingerprint.ts";
import { BUILT, STAMP } from "./places.ts";

try {
  await buildConsole();
} catch (error) {
  // Vite's stack trace does not help.
  process.stderr.write(`${error instanceof Error ? error.message.trim() : String(error)}\n`);
  process.exitCode = 1;
}

/** Builds in another folder and replaces the files at once: a starting gateway may read them. */
async function buildConsole(): Promise<void> {
  // A source changed during the build makes the built console outdated.
  const fingerprint = fingerprintOfSources();
  // Tests have another one, with which React is twice as large.
  process.env["NODE_ENV"] = "production";
  const place = path.dirname(BUILT);
  mkdirSync(place, { recursive: true });
  const folder = mkdtempSync(path.join(place, ".console-"));
  try {
    await build({ configFile: path.join(import.meta.dirname, "vite.config.ts"), build: { outDir: folder } });
    // A temporary folder is private; a service reads the console as a user of its own.
    chmodSync(folder, 0o755);
    rmSync(BUILT, { recursive: true, force: true });
    renameSync(folder, BUILT);
    writeFileSync(STAMP, fingerprint);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
