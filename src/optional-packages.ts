import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { z } from "zod";

const manifest = z.object({ optionalDependencies: z.record(z.string(), z.string()) });
const { resolve } = createRequire(import.meta.url);

/**
 * Optional packages that a part of the gateway needs are not installed. The message says how to install them.
 */
export class MissingPackagesError extends Error {
  override readonly name = "MissingPackagesError";
}

/**
 * Checks that optional packages are installed: an installation with `--omit=optional` has none.
 * @param part what needs them, e.g. `sandbox_execute`
 * @throws MissingPackagesError
 */
export function requirePackages(part: string, names: readonly string[]): void {
  const missing = names.filter((name) => !isInstalled(name));
  if (missing.length === 0) return;
  const { optionalDependencies: versions } = manifest.parse(
    JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")),
  );
  const packages = missing.length > 1 ? "packages" : "package";
  const exact = missing.map((name) => `${name}@${versions[name] ?? "latest"}`);
  throw new MissingPackagesError(
    `${part} needs the ${packages} ${missing.join(", ")}: npm install ${exact.join(" ")}`,
  );
}

function isInstalled(name: string): boolean {
  try {
    resolve(`${name}/package.json`);
    return true;
  } catch (error) {
    // Any other error is that of an installed package: it does not export its manifest.
    return !(error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND");
  }
}
