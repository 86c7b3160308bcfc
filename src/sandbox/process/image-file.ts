import { randomBytes } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";

/**
 * Keeps Python's memory image between starts, next to the code: what can write there can change the gateway
 * itself. Nothing is kept where the folder is read-only.
 */
export class ImageFile {
  readonly #file: string;

  constructor(file = path.join(import.meta.dirname, "../../../node_modules/.cache/sandbox/python-image")) {
    this.#file = file;
  }

  /** @param version of the programs that made it @returns undefined unless it is of this version */
  async read(version: string): Promise<Buffer | undefined> {
    const content = await readFile(this.#file).catch(() => undefined);
    const head = Buffer.from(`${version}\n`);
    return content?.subarray(0, head.length).equals(head) ? content.subarray(head.length) : undefined;
  }

  async write(version: string, image: Buffer): Promise<void> {
    const unfinished = `${this.#file}.${randomBytes(6).toString("hex")}`;
    try {
      await mkdir(path.dirname(this.#file), { recursive: true });
      await writeFile(unfinished, [`${version}\n`, image], { mode: 0o600 });
      await rename(unfinished, this.#file);
    } catch {
      await this.#remove(unfinished);
    }
  }

  async remove(): Promise<void> {
    await this.#remove(this.#file);
  }

  async #remove(file: string): Promise<void> {
    await rm(file, { force: true }).catch(() => {});
  }
}
