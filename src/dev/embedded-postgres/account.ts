import { readFile, realpath, stat } from "node:fs/promises";
import path from "node:path";
import process from "node:process";

/** A system account that a process runs as. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** Whether this process is root, as which PostgreSQL refuses to run. */
export function isRoot(): boolean {
  return process.geteuid?.() === 0;
}

/** The account that runs the server if we are root (undefined: not root): owner of the data, or `nobody`. */
export async function serverAccount(dataFolder: string): Promise<Account | undefined> {
  if (!isRoot()) return undefined;
  const owner = await stat(dataFolder).catch(() => undefined);
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  return nobody(await readFile("/etc/passwd", "utf8").catch(() => ""));
}

/** The ids of `nobody` in a passwd(5) file; the customary 65534 if it is not listed. */
export function nobody(passwd: string): Account {
  const [, , uid, gid] =
    passwd
      .split("\n")
      .find((line) => line.startsWith("nobody:"))
      ?.split(":") ?? [];
  return { uid: accountId(uid), gid: accountId(gid) };
}

/** Whether `account` may enter `folder`, by permission bits: as root every attempt would succeed. */
export async function canEnter(account: Account | undefined, folder: string): Promise<boolean> {
  if (account === undefined) return true;
  for (let current = await realpath(folder); ; current = path.dirname(current)) {
    const { uid, gid, mode } = await stat(current);
    const executable = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
    if ((mode & executable) === 0) return false;
    if (current === path.dirname(current)) return true;
  }
}

function accountId(text: string | undefined): number {
  return text !== undefined && /^[1-9]\d*$/.test(text) ? Number(text) : 65534;
}
