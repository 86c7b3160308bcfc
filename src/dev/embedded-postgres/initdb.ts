import { randomBytes } from "node:crypto";
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  rename,
  rm,
  symlink,
  writeFile,
  lstat,
} from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { type Account, canEnter, isRoot } from "./account.ts";
import { run } from "./command.ts";
import { EmbeddedPostgresError, errorCode } from "./error.ts";
import { isAlive } from "./postmaster.ts";
import os from "node:os";

interface Initialization {
  /** Final place of the cluster; must not exist yet. */
  readonly home: string;
  readonly account: Account | undefined;
  readonly initdb: string;
  /** Name of the superuser. */
  readonly owner: string;
  readonly onProgress: (text: string) => void;
}

/** Creates a cluster at `home` by one move. @throws EmbeddedPostgresError with initdb's output */
export async function initializeCluster({
  home,
  account,
  initdb,
  owner,
  onProgress,
}: Initialization): Promise<void> {
  const dataDir = path.dirname(home);
  if ((await mkdir(dataDir, { recursive: true })) !== undefined && isRoot()) await chmod(dataDir, 0o755);
  const open = await canEnter(account, dataDir);
  const parent = open ? dataDir : await openPlace(account);
  await removeAbandoned(parent);

  const staging = await mkdtemp(path.join(parent, `${stagingPrefix}${process.pid}-`));
  try {
    await build(staging, { account, initdb, owner });
    if (open) {
      await rename(staging, home);
    } else {
      const place = path.join(parent, path.basename(staging).replace(stagingPrefix, "postgres-"));
      await rename(staging, place);
      await symlink(place, home);
      onProgress(`Keeping the data in ${place}: the server's account cannot enter ${dataDir}`);
    }
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    // A concurrent process has created the cluster.
    if (!["ENOTEMPTY", "EEXIST"].includes(errorCode(error) ?? "")) throw error;
  }
}

const stagingPrefix = "postgres.new-";

async function build(
  staging: string,
  { account, initdb, owner }: Pick<Initialization, "account" | "initdb" | "owner">,
): Promise<void> {
  const dataFolder = path.join(staging, "data");
  const passwordFile = path.join(staging, "password");
  await mkdir(dataFolder, { mode: 0o700 });
  await writeFile(passwordFile, `${randomBytes(24).toString("hex")}\n`, { mode: 0o600, flag: "wx" });
  if (account !== undefined) {
    await chmod(staging, 0o711);
    await chown(dataFolder, account.uid, account.gid);
    await chown(passwordFile, account.uid, account.gid);
  }
  const { code, output } = await run(
    initdb,
    [
      `--pgdata=${dataFolder}`,
      `--username=${owner}`,
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      "--locale=C",
      "--locale-provider=builtin",
      "--builtin-locale=C.UTF-8",
      "--no-instructions",
    ],
    account,
  );
  if (code !== 0) throw new EmbeddedPostgresError(`initdb failed in ${staging}:\n${output}`);
  if (account !== undefined) await chown(passwordFile, process.geteuid?.() ?? 0, process.getegid?.() ?? 0);
}

/** Deletes what processes that no longer live were building. */
async function removeAbandoned(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const builder = name.startsWith(stagingPrefix)
      ? Number.parseInt(name.slice(stagingPrefix.length), 10)
      : Number.NaN;
    if (Number.isInteger(builder) && !isAlive(builder))
      await rm(path.join(parent, name), { recursive: true, force: true });
  }
}

/** A data folder that `account` can reach, best one that survives a reboot. @throws EmbeddedPostgresError */
async function openPlace(account: Account | undefined): Promise<string> {
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
