import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { jsonObject } from "../../bytes.ts";
import { isCode, writeSynced } from "../private-files.ts";
import { SignInError } from "./errors.ts";

/** A lock of a process that died is ignored after it, ms. Longer than a refresh may take. */
const LOCK_MS = 30_000;
const POLL_MS = 50;

/** What is stored of a sign-in. */
export interface StoredSignIn {
  readonly tokenUrl: string;
  readonly revokeUrl: string;
  readonly clientId: string;
  readonly accessToken: string;
  readonly refreshToken: string;
  /** Of the access token, ms. */
  readonly expiresAt: number;
}

/** The folder of the user's settings. */
export function defaultFolder(): string {
  const { XDG_CONFIG_HOME, APPDATA } = process.env;
  const settings = process.platform === "win32" ? APPDATA : XDG_CONFIG_HOME;
  return path.join(settings || path.join(os.homedir(), ".config"), "toolgate");
}

/** The sign-in of one gateway, in a file that its owner alone can read, shared by processes. */
export class SignInFile {
  readonly #folder: string;
  readonly #path: string;

  constructor(folder: string, gateway: string) {
    this.#folder = folder;
    this.#path = path.join(folder, `${encodeURIComponent(gateway)}.json`);
  }

  /** Returns undefined without a sign-in. @throws SignInError */
  async read(): Promise<StoredSignIn | undefined> {
    const text = await readFile(this.#path, "utf8").catch((error: unknown) => {
      if (isCode(error, "ENOENT")) return undefined;
      throw this.#failure("cannot be read", error);
    });
    if (text === undefined) return undefined;
    const { tokenUrl, revokeUrl, clientId, accessToken, refreshToken, expiresAt } = jsonObject(text) ?? {};
    if (
      typeof tokenUrl !== "string" ||
      typeof revokeUrl !== "string" ||
      typeof clientId !== "string" ||
      typeof accessToken !== "string" ||
      typeof refreshToken !== "string" ||
      typeof expiresAt !== "number"
    )
      throw this.#failure("is not a sign-in; delete it");
    return { tokenUrl, revokeUrl, clientId, accessToken, refreshToken, expiresAt };
  }

  /** Replaces it; a reader gets the old or the new one. @throws SignInError */
  async write(stored: StoredSignIn): Promise<void> {
    const temporary = `${this.#path}.${randomUUID()}`;
    try {
      await writeSynced(temporary, JSON.stringify(stored));
      await rename(temporary, this.#path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw this.#failure("cannot be written", error);
    }
  }

  async remove(): Promise<void> {
    await rm(this.#path, { force: true });
  }

  /** Runs one piece of work at a time, over all processes. @throws SignInError; what the work throws */
  async exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    const lock = `${this.#path}.lock`;
    await this.#lock(lock);
    try {
      return await work();
    } finally {
      await rm(lock, { force: true });
    }
  }

  async #lock(lock: string): Promise<void> {
    for (;;) {
      try {
        await mkdir(this.#folder, { recursive: true, mode: 0o700 });
        return await (await open(lock, "wx", 0o600)).close();
      } catch (error) {
        if (!isCode(error, "EEXIST")) throw this.#failure("cannot be locked", error);
      }
      const lockedAt = await stat(lock).then(
        ({ mtimeMs }) => mtimeMs,
        () => Number.NaN,
      );
      if (Date.now() - lockedAt > LOCK_MS) await rm(lock, { force: true });
      else await sleep(POLL_MS);
    }
  }

  #failure(problem: string, cause?: unknown): SignInError {
    return new SignInError("SIGN_IN_STORE", `${this.#path}: ${problem}`, cause);
  }
}
