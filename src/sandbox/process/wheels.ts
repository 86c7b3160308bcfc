import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";

/** A Python package from the operator. */
export interface Wheel {
  readonly file: string;
  /** e.g. "six 1.17.0" */
  readonly package: string;
  readonly sha256: string;
}

/** As written by `sha256sum *.whl`. */
const PINS = "SHA256SUMS";

/** name-version(-build)-python-abi-platform.whl (Python packaging, binary distribution format). */
const WHEEL = /^(?<name>[^-]+)-(?<version>[^-]+)(?:-\d[^-]*)?-[^-]+-(?<abi>[^-]+)-(?<platform>[^-]+)\.whl$/;

const digest = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

/** Finds wheels, by name. @throws Error naming one that is not pure Python, not pinned, or changed */
export async function findWheels(folder: string): Promise<readonly Wheel[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith(".whl")).sort();
  const pins = await pinsOf(folder);
  const wheels = await Promise.all(
    files.map(async (file) => {
      const { name, version, abi, platform } = WHEEL.exec(file)?.groups ?? {};
      if (name === undefined || version === undefined || abi !== "none" || platform !== "any") {
        throw new Error(
          `${path.join(folder, file)} is not a pure-Python wheel (…-none-any.whl); only those can be ` +
            "imported.",
        );
      }
      const sha256 = digest(await readFile(path.join(folder, file)));
      if (pins !== undefined && pins.get(file) !== sha256) {
        const problem = pins.has(file) ? "differs from the pinned file" : "is not pinned";
        throw new Error(
          `${path.join(folder, file)} ${problem} in ${PINS}: check its origin, then update its line.`,
        );
      }
      return { file, package: `${name} ${version}`, sha256 };
    }),
  );
  for (const file of pins?.keys() ?? []) {
    if (!files.includes(file))
      throw new Error(`${path.join(folder, PINS)} pins ${file}, which does not exist.`);
  }
  return wheels;
}

/** Reads the wheels for one worker. @throws Error if one has changed since */
export async function readWheels(folder: string, wheels: readonly Wheel[]): Promise<Buffer[]> {
  return await Promise.all(
    wheels.map(async ({ file, sha256 }) => {
      const bytes = await readFile(path.join(folder, file));
      if (digest(bytes) === sha256) return bytes;
      throw new Error(
        `${path.join(folder, file)} changed while the gateway was running: restart the gateway to use ` +
          "the new file.",
      );
    }),
  );
}

async function pinsOf(folder: string): Promise<ReadonlyMap<string, string> | undefined> {
  const file = path.join(folder, PINS);
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => {
      const [, sha256, name] = /^([0-9a-f]{64}) [ *](\S.*)$/.exec(line.trimEnd()) ?? [];
      if (sha256 === undefined || name === undefined) {
        throw new Error(`${file}: ${JSON.stringify(line)} is not a line as \`sha256sum *.whl\` writes it.`);
      }
      return [name, sha256];
    }),
  );
}
