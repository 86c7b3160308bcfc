import { lstat, mkdir } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { type Account, canEnter } from "./account.ts";
import { EmbeddedPostgresError } from "./error.ts";

/**
 * A data folder that `account` can reach, for when the configured one is closed to it, such as root's home.
 * Prefers folders that survive a reboot.
 * @throws EmbeddedPostgresError if there is none
 */
export async function openPlace(account: Account | undefined): Promise<string> {
  for (const parent of ["/var/lib", "/var/tmp", os.tmpdir()]) {
    const folder = path.join(parent, "toolgate");
    try {
      await mkdir(folder, { mode: 0o711 }).catch(() => undefined);
      const { uid, mode } = await lstat(folder);
      // In a folder that all may write to, another user may have taken the name first.
      const ours = uid === process.geteuid?.() && (mode & 0o022) === 0;
      if (ours && (await canEnter(account, folder))) return folder;
    } catch {
      continue;
    }
  }
  throw new EmbeddedPostgresError(
    "No folder was found that PostgreSQL's account can enter. Point DATA_DIR to one, or set DATABASE_URL.",
  );
}
