import { readFile } from "node:fs/promises";

/** Content (base64) of files by their path in the settings. */
export type SettingFiles = Readonly<Record<string, string>>;

/** Reads a file that settings refer to: its stored content, or else the file of this machine. */
export async function readSettingFile(file: string, files: SettingFiles = {}): Promise<Buffer> {
  const stored = Object.hasOwn(files, file) ? files[file] : undefined;
  return stored === undefined ? await readFile(file) : Buffer.from(stored, "base64");
}
