import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { BUILT, INPUTS, ROOT, SOURCES, STAMP } from "./places.ts";

/** A fingerprint of the inputs of the console's build. */
export function fingerprintOfSources(): string {
  const hash = createHash("sha256");
  for (const file of INPUTS.flatMap(filesIn)) {
    const content = readFileSync(path.join(ROOT, file));
    hash.update(`${file}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

function filesIn(place: string): string[] {
  if (statSync(path.join(ROOT, place)).isFile()) return [place];
  const entries = readdirSync(path.join(ROOT, place), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(ROOT, path.join(entry.parentPath, entry.name)))
    .sort();
}

/** Whether the built console matches the current sources. The npm package has no sources. */
export function consoleIsCurrent(): boolean {
  if (!existsSync(SOURCES)) return existsSync(BUILT);
  return existsSync(BUILT) && existsSync(STAMP) && readFileSync(STAMP, "utf8") === fingerprintOfSources();
}
