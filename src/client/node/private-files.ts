import { open } from "node:fs/promises";
import { isObject } from "../bytes.ts";

/** Writes a new file, readable by its owner alone, that survives a crash. */
export async function writeSynced(file: string, text: string): Promise<void> {
  const handle = await open(file, "wx", 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Whether an error of the file system has this code, such as ENOENT. */
export function isCode(error: unknown, code: string): boolean {
  return isObject(error) && error["code"] === code;
}
