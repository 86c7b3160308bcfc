import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Random } from "../../domain/clock.ts";
import { ToolgateError } from "../../domain/errors.ts";
import type { Gate } from "../gate.ts";
import { send, type HttpAnswer } from "../http/answer.ts";
import { arrivalOf } from "../http/request-head.ts";
import { newRequestId } from "../request-context.ts";
import { BYTE_ORDER_MARK } from "./csv.ts";
import { parametersOf, type ExportFile } from "./export-file.ts";

/** What the door needs. */
export interface ExportDoorOptions {
  readonly gate: Gate;
  readonly files: readonly ExportFile[];
  readonly random: Random;
  /** The answer to what failed. */
  readonly failed: (error: unknown, requestId: string) => HttpAnswer;
  /** How long a caller may take nothing of a file, ms; default 60 s. */
  readonly stallMs?: number;
}

/** How long a caller may take for a whole file, ms: the database keeps what it is read from for as long. */
const FILE_MS = 15 * 60_000;

/** Files that are written for one account at once. */
const OF_ONE = 2;

const ALLOW = "GET, HEAD";

/**
 * Files for the account of a session, as long as its ledger is, in parts as fast as they are taken. What fails before the first part is
 * answered as everywhere; after it the connection is cut, so that nobody takes half a file for a whole one.
 */
export class ExportDoor {
  readonly #options: ExportDoorOptions;
  readonly #files: ReadonlyMap<string, ExportFile>;
  readonly #writing = new Set<Promise<void>>();
  /** Whose files are being written. */
  readonly #owners: string[] = [];

  constructor(options: ExportDoorOptions) {
    this.#options = options;
    this.#files = new Map(options.files.map((file) => [file.path, file]));
  }

  /** Serves one request. Never throws. */
  handle(request: IncomingMessage, response: ServerResponse): void {
    const requestId = newRequestId(this.#options.random);
    const writing = this.#write(request, response, requestId)
      .catch((error: unknown) => this.#fail(response, error, requestId))
      .finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
  }

  /** Resolves when no file is being written any more. */
  async idle(): Promise<void> {
    while (this.#writing.size > 0) await Promise.allSettled(this.#writing);
  }

  async #write(request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void> {
    const { method = "GET", url = "" } = request;
    const [path = "", search = ""] = url.split(/\?(.*)/s);
    const file = this.#files.get(path);
    if (!file) throw new ToolgateError("NOT_FOUND", `there are ${[...this.#files.keys()].join(", ")}`);
    if (method !== "GET" && method !== "HEAD") {
      // What the caller may still be sending is not read.
      response.shouldKeepAlive = false;
      response.setHeader("allow", ALLOW);
      throw new ToolgateError("METHOD_NOT_ALLOWED", `this path takes ${ALLOW}`);
    }
    const { caller } = await this.#options.gate.admit("required", arrivalOf(request));
    if (!caller) throw new ToolgateError("UNAUTHORIZED", "sign in first");
    const { accountId } = caller;
    const parameters = parametersOf(search, file.parameters);
    await this.#amongFew(accountId, () =>
      file.write(accountId, parameters, (name, parts) => this.#send(response, { name, parts, method, requestId })),
    );
  }

  /** @throws ToolgateError UNAVAILABLE when the account has as many files under way as it may */
  async #amongFew(accountId: string, write: () => Promise<void>): Promise<void> {
    if (this.#owners.filter((other) => other === accountId).length >= OF_ONE) {
      throw new ToolgateError("UNAVAILABLE", `${OF_ONE} files of the account are being written; wait for one of them`, {
        retryAfterSeconds: 5,
      });
    }
    this.#owners.push(accountId);
    try {
      await write();
    } finally {
      this.#owners.splice(this.#owners.indexOf(accountId), 1);
    }
  }

  async #send(
    response: ServerResponse,
    file: { name: string; parts: AsyncIterable<string>; method: string; requestId: string },
  ): Promise<void> {
    const { name, parts, method, requestId } = file;
    const iterator = parts[Symbol.asyncIterator]();
    const first = await iterator.next();
    response.writeHead(200, {
      "content-type": "text/csv; charset=utf-8; header=present",
      "content-disposition": `attachment; filename="${name}"`,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-request-id": requestId,
    });
    if (method === "HEAD") {
      response.end();
      await iterator.return?.();
      return;
    }
    response.setTimeout(this.#options.stallMs ?? 60_000, () => response.destroy());
    const rest = { [Symbol.asyncIterator]: () => iterator };
    await pipeline(Readable.from(wholeText(first.done ? "" : first.value, rest)), response, {
      signal: AbortSignal.timeout(FILE_MS),
    });
  }

  #fail(response: ServerResponse, error: unknown, requestId: string): void {
    const gone = response.destroyed && hasCode(error, "ERR_STREAM_PREMATURE_CLOSE");
    // What cannot be told any more is for the log all the same.
    const answer = gone ? undefined : this.#options.failed(error, requestId);
    if (answer && !response.headersSent && !response.destroyed) send(response, [["x-request-id", requestId]], answer);
    else response.destroy();
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

async function* wholeText(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield BYTE_ORDER_MARK + first;
  for await (const part of rest) if (part !== "") yield part;
}
