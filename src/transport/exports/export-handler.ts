import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { RequestAuthenticator } from "../authentication.ts";
import type { HttpHandler } from "../http/dispatch.ts";
import { send, type HttpResponse } from "../http/response.ts";
import { HttpCredentials } from "../http/request-head.ts";
import type { RequestIds } from "../request-ids.ts";
import { BYTE_ORDER_MARK } from "./csv.ts";
import { parametersOf, type ExportFile, type OpenedFile } from "./export-file.ts";

export interface ExportHandlerOptions {
  readonly authenticator: RequestAuthenticator;
  readonly files: readonly ExportFile[];
  readonly requestIds: RequestIds;
  readonly failed: (error: unknown, requestId: string) => HttpResponse;
  /** Overrides {@link MINIMUM_RATE}. */
  readonly minimumRate?: MinimumRate;
}

/** Slowest accepted reader: each chunk may take `graceMs` plus its size at `bytesPerSecond`. */
export interface MinimumRate {
  readonly graceMs: number;
  readonly bytesPerSecond: number;
}

const MINIMUM_RATE: MinimumRate = { graceMs: 10_000, bytesPerSecond: 16 * 1024 };

/** Time limit of a whole download, ms: the session is checked only at its start. */
const MAX_FILE_MS = 15 * 60_000;

/** Concurrent downloads per account. */
const MAX_PER_ACCOUNT = 2;

const ALLOW = "GET, HEAD";

/** Streams CSV files to the session's account. Later errors destroy the connection: no partial file. */
export class ExportHandler implements HttpHandler {
  readonly #options: ExportHandlerOptions;
  readonly #files: ReadonlyMap<string, ExportFile>;
  readonly #writing = new Set<Promise<void>>();
  /** Accounts of the running downloads, one entry each. */
  readonly #accounts: string[] = [];

  constructor(options: ExportHandlerOptions) {
    this.#options = options;
    this.#files = new Map(options.files.map((file) => [file.path, file]));
  }

  handle(request: IncomingMessage, response: ServerResponse): boolean {
    const requestId = this.#options.requestIds.of(request.headers["x-request-id"]);
    const writing = this.#write(request, response, requestId)
      .catch((error: unknown) => this.#fail(response, error, requestId))
      .finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
    return true;
  }

  /** Resolves when no download is running. */
  async idle(): Promise<void> {
    while (this.#writing.size > 0) await Promise.allSettled(this.#writing);
  }

  async #write(request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void> {
    const { method = "GET", url = "" } = request;
    const [path = "", search = ""] = url.split(/\?(.*)/s);
    const file = this.#files.get(path);
    if (!file) throw new ToolgateError("NOT_FOUND", `there are ${[...this.#files.keys()].join(", ")}`);
    if (method !== "GET" && method !== "HEAD") {
      // Closes the connection instead of reading the rest of the body.
      response.shouldKeepAlive = false;
      response.setHeader("allow", ALLOW);
      throw new ToolgateError("METHOD_NOT_ALLOWED", `this path supports ${ALLOW}`);
    }
    const { caller } = await this.#options.authenticator.authenticate(
      "required",
      new HttpCredentials(request),
    );
    if (!caller) throw new ToolgateError("UNAUTHORIZED", "sign in first");
    const { accountId } = caller;
    const parameters = parametersOf(search, file.parameters);
    await this.#limitPerAccount(accountId, async () => {
      const opened = await file.open(accountId, parameters);
      await this.#send(response, { ...opened, method, requestId });
    });
  }

  /** @throws ToolgateError UNAVAILABLE when the account has too many downloads */
  async #limitPerAccount(accountId: string, write: () => Promise<void>): Promise<void> {
    if (this.#accounts.filter((other) => other === accountId).length >= MAX_PER_ACCOUNT) {
      throw new ToolgateError(
        "UNAVAILABLE",
        `${MAX_PER_ACCOUNT} downloads of this account are running; wait for one to end`,
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

  /** Resolves when the client has read the buffer. @throws AbortError when it disconnects or is too slow */
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
    // Logs the error even when it can no longer be sent.
    const answer = isClientAbort(error) ? undefined : this.#options.failed(error, requestId);
    if (answer && !response.headersSent && !response.destroyed)
      send(response, [["x-request-id", requestId]], answer);
    else response.destroy();
  }
}

function isClientAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError");
}

async function* wholeText(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield BYTE_ORDER_MARK + first;
  for await (const part of rest) if (part !== "") yield part;
}
