import path from "node:path";

export const ROOT = path.resolve(import.meta.dirname, "../../..");

export const SOURCES = path.join(ROOT, "src/console");

/** Folder of the built console, from which the gateway serves it. */
export const BUILT = path.join(ROOT, "dist/console");

/** Which sources it was built from: beside the files, not among them. */
export const STAMP = path.join(ROOT, "dist/console.sources");

/** Inputs of the build: the sources, the messages, the build's own code and its packages. */
export const INPUTS = ["src/console", "gen/toolgate", "src/dev/console-build", "package-lock.json"] as const;
