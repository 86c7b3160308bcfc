import { lstat, readFile, readdir, realpath, rm } from "node:fs/promises";
import path from "node:path";
import { type Account, canEnter } from "./account.ts";
import type { Binaries } from "./binaries.ts";
import { EmbeddedPostgresError, errorCode } from "./error.ts";
import { initializeCluster } from "./initdb.ts";

/** A database cluster on disk: PostgreSQL's own data folder and what we keep beside it. */
export interface Cluster {
  /** Holds the members below: `postgres` in the data directory, or what that link points to. */
  readonly home: string;
  /** PGDATA, with every link on the way resolved. */
  readonly dataFolder: string;
  /** The server's standard error. */
  readonly logFile: string;
  readonly password: string;
}

/** Name of the superuser and of the database. */
export const clusterOwner = "toolgate";

/**
 * Opens the cluster in `dataDir/postgres`, making it first if there is none.
 *
 * @throws EmbeddedPostgresError when something is there that this PostgreSQL cannot use; nothing is deleted
 * then
 */
export async function openCluster(
  dataDir: string,
  account: Account | undefined,
  binaries: Binaries,
  onProgress: (text: string) => void,
): Promise<Cluster> {
  const home = path.join(dataDir, "postgres");
  if (!(await holdsCluster(home, binaries.major, onProgress))) {
    onProgress(`Creating a PostgreSQL ${binaries.major} database in ${home}, once`);
    await initializeCluster({ home, account, initdb: binaries.initdb, owner: clusterOwner, onProgress });
  }
  const place = await realpath(home);
  if (!(await canEnter(account, place))) {
    throw new EmbeddedPostgresError(
      `${place} lies in a folder that the owner of the data may not enter. Open the way with chmod ` +
        `o+x. ${remedy(home)}`,
    );
  }
  return {
    home: place,
    dataFolder: path.join(place, "data"),
    logFile: path.join(place, "log"),
    password: await readPassword(home),
  };
}

async function holdsCluster(
  home: string,
  major: string,
  onProgress: (text: string) => void,
): Promise<boolean> {
  const version = await readFile(path.join(home, "data", "PG_VERSION"), "utf8").catch((error: unknown) => {
    if (errorCode(error) === "EACCES")
      throw new EmbeddedPostgresError(`${home} belongs to another user. ${remedy(home)}`, { cause: error });
    return undefined;
  });
  if (version === undefined) {
    await clearEmptyPlace(home, onProgress);
    return false;
  }
  if (version.trim() !== major) {
    throw new EmbeddedPostgresError(
      `${home} was written by PostgreSQL ${version.trim()}, and this is PostgreSQL ${major}. To keep ` +
        `the rows, dump them with the older version first (pg_dump). ${remedy(home)}`,
    );
  }
  return true;
}

/** Frees the name for a new cluster if no data is lost: an empty folder, or a link without a target. */
async function clearEmptyPlace(home: string, onProgress: (text: string) => void): Promise<void> {
  const found = await lstat(home).catch(() => undefined);
  if (found === undefined) return;
  const entries = await readdir(home).catch((error: unknown) => {
    if (found.isSymbolicLink() && errorCode(error) === "ENOENT") return [];
    throw new EmbeddedPostgresError(`${home} cannot be read. ${remedy(home)}`, { cause: error });
  });
  if (entries.length > 0) {
    throw new EmbeddedPostgresError(
      `${home} is not empty, and it is not a complete PostgreSQL data folder either. ${remedy(home)}`,
    );
  }
  if (found.isSymbolicLink()) onProgress(`The data that ${home} pointed to has gone`);
  await rm(home, { recursive: !found.isSymbolicLink() });
}

async function readPassword(home: string): Promise<string> {
  const file = path.join(home, "password");
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (cause) {
    throw new EmbeddedPostgresError(`The database's password cannot be read from ${file}. ${remedy(home)}`, {
      cause,
    });
  }
}

function remedy(home: string): string {
  return `Move or delete ${home} to begin with an empty database, or point DATA_DIR to another folder.`;
}
