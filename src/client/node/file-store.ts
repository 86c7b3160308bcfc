import { createHash, randomUUID } from "node:crypto";
import { link, mkdir, open, readdir, readFile, rm, stat } from "node:fs/promises";
import path from "node:path";
import { jsonObject } from "../bytes.ts";
import { PaymentStoreError } from "../errors.ts";
import type { PaymentStore } from "../store.ts";
import { isCode, writeSynced } from "./private-files.ts";

/** Lifetime of replaced versions, ms. Longer than any concurrent write. */
const KEEP_MS = 60_000;
/** Lifetime of deletion markers, ms. Longer than any process pauses during a write. */
const KEEP_DELETED_MS = 3_600_000;

/** One version of a key, as its file has it. `value` is undefined where the key was deleted. */
interface Version {
  readonly key: string;
  readonly number: number;
  readonly id: string;
  /** `id` of the version before. */
  readonly previous: string | undefined;
  readonly value: string | undefined;
}

/**
 * A store in a folder, which several processes may share; made if need be, readable by its owner alone. Each
 * version of a key is a file that never changes, written and synced under another name and then linked to its
 * own: the link fails if another process was faster, and a crash leaves the old version or the new one.
 */
export function fileStore(folder: string): PaymentStore {
  const files = new VersionFiles(folder);
  return {
    async get(key) {
      const version = await files.latest(key);
      return version?.value === undefined ? undefined : { value: version.value, version: version.id };
    },
    async put(key, value, version) {
      const latest = await files.latest(key);
      const current = latest?.value === undefined ? undefined : latest.id;
      return current === version && files.write(key, value, latest);
    },
    async list(prefix) {
      const versions = await files.all();
      return versions.flatMap(({ key, value }) =>
        value !== undefined && key.startsWith(prefix) ? [key] : [],
      );
    },
    async delete(key, version) {
      const latest = await files.latest(key);
      return latest?.value !== undefined && latest.id === version && files.write(key, undefined, latest);
    },
  };
}

/** The files: `<hash of the key>.<number>`. */
class VersionFiles {
  readonly #folder: string;
  #made = false;
  #sweptAt = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async latest(key: string): Promise<Version | undefined> {
    // Retry if the file is replaced between list and read.
    for (;;) {
      const [newest] = await this.#numbers(hashOf(key));
      if (newest === undefined) return undefined;
      const version = await this.#read(hashOf(key), newest);
      if (version) return version;
    }
  }

  async all(): Promise<Version[]> {
    const versions: Version[] = [];
    for (const [hash, [newest]] of await this.#all()) {
      const version = newest === undefined ? undefined : await this.#read(hash, newest);
      if (version) versions.push(version);
    }
    return versions;
  }

  /** @returns whether this version became the next */
  async write(key: string, value: string | undefined, latest: Version | undefined): Promise<boolean> {
    const number = (latest?.number ?? 0) + 1;
    const version: Version = { key, number, id: randomUUID(), previous: latest?.id, value };
    const temporary = path.join(this.#folder, `new-${version.id}`);
    const final = this.#path(hashOf(key), number);
    try {
      await writeSynced(temporary, JSON.stringify(version));
      await link(temporary, final);
    } catch (error) {
      if (isCode(error, "EEXIST")) return false;
      throw new PaymentStoreError(`${this.#folder}: cannot be written`, { cause: error });
    } finally {
      await rm(temporary, { force: true });
    }
    if (!(await this.#isInLine(version))) {
      await rm(final, { force: true });
      return false;
    }
    await syncFolder(this.#folder);
    // The next write retries the cleanup.
    await this.#sweep().catch(() => {});
    return true;
  }

  /** A later version that does not follow from this one: the number was used before, its file cleared. */
  async #isInLine({ key, number, id }: Version): Promise<boolean> {
    const [newest = number] = await this.#numbers(hashOf(key));
    if (newest === number) return true;
    const next = await this.#read(hashOf(key), number + 1);
    return next?.previous === id;
  }

  /** Deletes, for all keys, replaced files, old deletion marks and unfinished writes of killed processes. */
  async #sweep(): Promise<void> {
    if (Date.now() - this.#sweptAt < KEEP_MS) return;
    this.#sweptAt = Date.now();
    for (const [hash, [newest = 0, ...older]] of await this.#all()) {
      for (const number of older) await removeOlder(this.#path(hash, number), KEEP_MS);
      const version = await this.#read(hash, newest).catch(() => undefined);
      if (version && version.value === undefined)
        await removeOlder(this.#path(hash, newest), KEEP_DELETED_MS);
    }
    for (const name of await readdir(this.#folder))
      if (name.startsWith("new-")) await removeOlder(path.join(this.#folder, name), KEEP_MS);
  }

  /** Numbers of the versions of a key that are there, newest first. */
  async #numbers(hash: string): Promise<number[]> {
    return (await this.#all()).get(hash) ?? [];
  }

  /** The same of all keys. */
  async #all(): Promise<Map<string, number[]>> {
    const all = new Map<string, number[]>();
    for (const name of await this.#names()) {
      const [hash = "", number = ""] = name.split(".");
      const numbers = all.get(hash);
      if (numbers) numbers.push(Number(number));
      else all.set(hash, [Number(number)]);
    }
    for (const numbers of all.values()) numbers.sort((one, other) => other - one);
    return all;
  }

  async #names(): Promise<string[]> {
    try {
      if (!this.#made) await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      this.#made = true;
      return (await readdir(this.#folder)).filter((name) => /^[0-9a-f]{64}\.\d{1,12}$/.test(name));
    } catch (error) {
      this.#made = false;
      throw new PaymentStoreError(`${this.#folder}: cannot be opened`, { cause: error });
    }
  }

  async #read(hash: string, number: number): Promise<Version | undefined> {
    const file = this.#path(hash, number);
    const text = await readFile(file, "utf8").catch((error: unknown) => {
      if (isCode(error, "ENOENT")) return undefined;
      throw new PaymentStoreError(`${file}: cannot be read`, { cause: error });
    });
    return text === undefined ? undefined : parse(text, file);
  }

  #path(hash: string, number: number): string {
    return path.join(this.#folder, `${hash}.${number}`);
  }
}

function parse(text: string, file: string): Version {
  const { key, number, id, previous, value } = jsonObject(text) ?? {};
  const isText = (member: unknown): member is string | undefined =>
    member === undefined || typeof member === "string";
  if (typeof key !== "string" || typeof number !== "number" || typeof id !== "string")
    throw new PaymentStoreError(`${file}: cannot be read`);
  if (!isText(previous) || !isText(value)) throw new PaymentStoreError(`${file}: cannot be read`);
  return { key, number, id, previous, value };
}

/** Removes a file that was written this long ago, ms. */
async function removeOlder(file: string, ms: number): Promise<void> {
  const written = await stat(file).then(
    ({ mtimeMs }) => mtimeMs,
    () => Infinity,
  );
  if (Date.now() - written > ms) await rm(file, { force: true });
}

/** Makes new names durable by fsync of the folder, which Windows neither has nor needs. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => undefined);
  try {
    await handle?.sync().catch(() => {});
  } finally {
    await handle?.close();
  }
}

function hashOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}
