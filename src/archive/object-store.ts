import { randomUUID } from "node:crypto";
import { link, mkdir, open, readFile, rm } from "node:fs/promises";
import path from "node:path";

/** Files by name. Names contain `/`. */
export interface ObjectStore {
  /** Address without secrets, for messages. */
  readonly address: string;
  /** Returns the content; undefined if there is no such file. */
  get(name: string): Promise<Uint8Array | undefined>;
  /** Stores a new file durably and whole, or not at all. Returns false if the name is taken. */
  create(name: string, content: Uint8Array): Promise<boolean>;
}

export class FileStore implements ObjectStore {
  readonly address: string;
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    this.address = folder;
  }

  async get(name: string): Promise<Uint8Array | undefined> {
    try {
      return await readFile(path.join(this.#folder, name));
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  async create(name: string, content: Uint8Array): Promise<boolean> {
    const target = path.join(this.#folder, name);
    const folder = path.dirname(target);
    const temporary = path.join(folder, `.${randomUUID()}.tmp`);
    await mkdir(folder, { recursive: true });
    try {
      await writeDurably(temporary, content);
      // Unlike a rename, a link never replaces a file.
      await link(temporary, target);
    } catch (error) {
      if (codeOf(error) === "EEXIST") return false;
      throw error;
    } finally {
      await rm(temporary, { force: true });
    }
    await syncFolder(folder);
    return true;
  }
}

async function writeDurably(file: string, content: Uint8Array): Promise<void> {
  const handle = await open(file, "wx", 0o640);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
