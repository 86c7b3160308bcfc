import { execFile } from "node:child_process";
import { access, lstat, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";

/** Executable and environment of a Chromium. */
export interface Chromium {
  readonly program: string;
  readonly env: Record<string, string>;
}

/** Written last, so a folder with it is complete. */
const COMPLETE_MARKER = "whole";

/** The packaged font first, so that pages look the same on every machine. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts/fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
  ${preferFont("system-ui", "Open Sans")}
  ${preferFont("sans-serif", "Open Sans")}
  ${preferFont("ui-monospace", "DejaVu Sans Mono")}
  ${preferFont("monospace", "DejaVu Sans Mono")}
</fontconfig>
`;

function preferFont(family: string, font: string): string {
  return `<alias binding="strong"><family>${family}</family><prefer><family>${font}</family></prefer></alias>`;
}

/**
 * Returns the Chromium of @sparticuz/chromium, unpacked once into a private folder. It works on Linux x64
 * only; set BROWSER_PROGRAM elsewhere.
 */
export async function findChromium(): Promise<Chromium> {
  const own = process.env["BROWSER_PROGRAM"];
  if (own !== undefined) return { program: own, env: {} };
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Error(
      "there is no packaged Chromium for this machine: set BROWSER_PROGRAM to the program of one",
    );
  const folder = await unpacked();
  return {
    program: path.join(folder, "chromium"),
    env: {
      LD_LIBRARY_PATH: path.join(folder, "al2023/lib"),
      FONTCONFIG_FILE: path.join(folder, "fonts.conf"),
      HOME: folder,
    },
  };
}

async function unpacked(): Promise<string> {
  const manifest = createRequire(import.meta.url)
    .resolve("@sparticuz/chromium")
    .replace(/build.*$/, "package.json");
  const { version }: { version: string } = JSON.parse(await readFile(manifest, "utf8"));
  const folder = path.join(os.tmpdir(), `toolgate-chromium-${version}-${process.geteuid?.() ?? 0}`);
  if (await isPrivateFolder(folder)) {
    if (await exists(path.join(folder, COMPLETE_MARKER))) return folder;
    await rm(folder, { recursive: true, force: true });
  }
  const staging = await mkdtemp(`${folder}.new-`);
  await unpackInto(staging);
  try {
    await rename(staging, folder);
  } catch {
    // Either another test file unpacked it first, or the folder belongs to another user.
    if (!(await isPrivateFolder(folder))) return staging;
    await rm(staging, { recursive: true, force: true });
  }
  return folder;
}

/** Whether only this user can write to the folder. */
async function isPrivateFolder(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(() => undefined);
  if (found === undefined) return false;
  return (
    found.isDirectory() && found.uid === (process.geteuid?.() ?? found.uid) && (found.mode & 0o077) === 0
  );
}

/** The package unpacks into TMPDIR, so a child process gets another one. */
async function unpackInto(folder: string): Promise<void> {
  const program = path.join(import.meta.dirname, "unpack-chromium.ts");
  await promisify(execFile)(process.execPath, [program], { env: { ...process.env, TMPDIR: folder } });
  await writeFile(path.join(folder, "fonts.conf"), FONTS);
  await writeFile(path.join(folder, COMPLETE_MARKER), "");
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
