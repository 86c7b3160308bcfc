import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Random } from "../../domain/clock.ts";
import { ToolgateError } from "../../domain/errors.ts";
import type { RequestAuthenticator } from "../authentication.ts";
import { send, type HttpResponse } from "../http/response.ts";
import { credentialsOf } from "../http/request-head.ts";
import { newRequestId } from "../request-context.ts";
import { BYTE_ORDER_MARK } from "./csv.ts";
import { parametersOf, type ExportFile, type OpenedFile } from "./export-file.ts";

/** What the door needs. */
export interface ExportHandlerOptions {
  readonly authenticator: RequestAuthenticator;
  readonly files: readonly ExportFile[];
  readonly random: Random;
  /** The answer to what failed. */
  readonly failed: (error: unknown, requestId: string) => HttpResponse;
  /** Other than {@link MINIMUM_RATE}. */
  readonly minimumRate?: MinimumRate;
}

/** How fast a caller must take a file: each part in `graceMs`, and the time that it takes at `bytesPerSecond`. */
export interface MinimumRate {
  readonly graceMs: number;
  readonly bytesPerSecond: number;
}

const MINIMUM_RATE: MinimumRate = { graceMs: 10_000, bytesPerSecond: 16 * 1024 };

/** How long a caller may take for a whole file, ms: it was let in at the beginning only. */
const MAX_FILE_MS = 15 * 60_000;

/** Files that are written for one account at once. */
const MAX_PER_ACCOUNT = 2;

const ALLOW = "GET, HEAD";

/**
 * Files for the account of a session, as long as its ledger is, in parts as fast as they are taken. What fails before the first part is
 * answered as everywhere; after it the connection is cut, so that nobody takes half a file for a whole one.
 */
export class ExportHandler {
  readonly #options: ExportHandlerOptions;
  readonly #files: ReadonlyMap<string, ExportFile>;
  readonly #writing = new Set<Promise<void>>();
  /** Whose files are being written. */
  readonly #accounts: string[] = [];

  constructor(options: ExportHandlerOptions) {
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
    const { caller } = await this.#options.authenticator.authenticate("required", credentialsOf(request));
    if (!caller) throw new ToolgateError("UNAUTHORIZED", "sign in first");
    const { accountId } = caller;
    const parameters = parametersOf(search, file.parameters);
    await this.#limitPerAccount(accountId, async () => {
      const opened = await file.open(accountId, parameters);
      await this.#send(response, { ...opened, method, requestId });
    });
  }

  /** @throws ToolgateError UNAVAILABLE when the account has as many files under way as it may */
  async #limitPerAccount(accountId: string, write: () => Promise<void>): Promise<void> {
    if (this.#accounts.filter((other) => other === accountId).length >= MAX_PER_ACCOUNT) {
      throw new ToolgateError(
        "UNAVAILABLE",
        `${MAX_PER_ACCOUNT} files of the account are being written; wait for one of them`,
        {
          retryAfterSeconds: 5,
        },
      );
    }
    this.#accounts.push(accountId);
    try {
      await write();
    } finally {
      this.#accounts.splice(this.#accounts.indexOf(accountId), 1);
    }
  }

  async #send(
    response: ServerResponse,
    file: OpenedFile & { method: string; requestId: string },
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
    const rest = { [Symbol.asyncIterator]: () => iterator };
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(MAX_FILE_MS)]);
    for await (const part of wholeText(first.done ? "" : first.value, rest)) {
      signal.throwIfAborted();
      if (!response.write(part)) await this.#waitForReader(response, "drain", signal);
    }
    response.end();
    await this.#waitForReader(response, "finish", signal);
  }

  /** Resolves when the caller has taken what was written. @throws AbortError when it has gone, or takes too long */
  async #waitForReader(
    response: ServerResponse,
    event: "drain" | "finish",
    signal: AbortSignal,
  ): Promise<void> {
    const { graceMs, bytesPerSecond } = this.#options.minimumRate ?? MINIMUM_RATE;
    const late = AbortSignal.timeout(Math.ceil(graceMs + (response.writableLength / bytesPerSecond) * 1_000));
    await once(response, event, { signal: AbortSignal.any([signal, late]) });
  }

  #fail(response: ServerResponse, error: unknown, requestId: string): void {
    // What cannot be told any more is for the log all the same.
    const answer = isClientAbort(error) ? undefined : this.#options.failed(error, requestId);
    if (answer && !response.headersSent && !response.destroyed)
      send(response, [["x-request-id", requestId]], answer);
    else response.destroy();
  }
}

/** Whether the caller has gone, or was too slow. */
function isClientAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError");
}

async function* wholeText(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield BYTE_ORDER_MARK + first;
  for await (const part of rest) if (part !== "") yield part;
}
