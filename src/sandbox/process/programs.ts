import { createRequire } from "node:module";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

export interface Programs {
  /** Binary. */
  readonly deno: string;
  /** Folder. */
  readonly pyodide: string;
  /** Folder of the workers' sources. */
  readonly guest: string;
}

/** npm package with Deno's binary per platform. */
const DENO_PACKAGES: Readonly<Record<string, string>> = {
  "linux-x64": "@deno/linux-x64-glibc",
  "linux-arm64": "@deno/linux-arm64-glibc",
  "darwin-x64": "@deno/darwin-x64",
  "darwin-arm64": "@deno/darwin-arm64",
};

/** Finds the programs among the installed packages. @throws Error if Deno is not available or installed */
export function findPrograms(platform = `${process.platform}-${process.arch}`): Programs {
  const name = DENO_PACKAGES[platform];
  if (name === undefined) {
    throw new Error(
      `There is no Deno for ${platform}: run the gateway on x64 or arm64 Linux, or set sandbox.kubernetes.`,
    );
  }
  const guest = path.join(import.meta.dirname, "guest");
  const pyodide = path.dirname(fileURLToPath(import.meta.resolve("pyodide")));
  return { deno: denoOf(name, platform), pyodide, guest };
}

function denoOf(name: string, platform: string): string {
  try {
    const here = createRequire(import.meta.url);
    return path.join(
      path.dirname(createRequire(here.resolve("deno/package.json")).resolve(`${name}/package.json`)),
      "deno",
    );
  } catch (error) {
    throw new Error(
      `Deno's package for ${platform} (${name}) is not installed: run \`npm ci\` without --omit=optional.`,
      {
        cause: error,
      },
    );
  }
}
