import { readdir, rename, rm } from "node:fs/promises";
import path from "node:path";
import type { ProfileSummary } from "./summary.ts";
import { readProfile } from "./text.ts";

/** Where the gateway of a part writes its profile at its end. */
export function profileFolder(folder: string, part: string): string {
  return path.join(folder, `${part}.d`);
}

/**
 * Reads the profile and keeps it as `<folder>/<part>.cpuprofile`.
 * @throws Error when there is not one
 */
export async function takeProfile(folder: string, part: string): Promise<ProfileSummary> {
  const written = profileFolder(folder, part);
  const [file, ...more] = await readdir(written);
  if (file === undefined || more.length > 0)
    throw new Error(`${written} holds ${more.length + 1} profiles instead of one`);
  const kept = path.join(folder, `${part}.cpuprofile`);
  await rename(path.join(written, file), kept);
  await rm(written, { recursive: true });
  return readProfile(kept);
}
