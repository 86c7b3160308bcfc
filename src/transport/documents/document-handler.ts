import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestRecorder } from "../../app/operations/request-record.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { allowedHeaders } from "../http/cors.ts";
import type { HttpHandler } from "../http/dispatch.ts";
import { HttpCredentials } from "../http/request-head.ts";
import type { RequestIds } from "../request-ids.ts";
import type { UnpaidTime } from "../unpaid-time.ts";
import { send, type HttpResponse, hasVersion, recordUntilClosed, tagOf } from "../http/response.ts";

export interface ServedDocument {
  readonly path: string;
  readonly mediaType: string;
  /** Cache lifetime, seconds. */
  readonly maxAgeSeconds: number;
  /** The current text; the same string until it changes. */
  text(): string;
}

export interface DocumentHandlerDeps {
  readonly documents: readonly ServedDocument[];
  readonly requestIds: RequestIds;
  readonly requests: RequestRecorder;
  readonly time: UnpaidTime;
  readonly failed: (error: ToolgateError, requestId: string) => HttpResponse;
}

interface CachedDocument {
  readonly text: string;
  readonly body: Buffer;
  readonly etag: string;
}

const ALLOW = "GET, HEAD, OPTIONS";

/** Serves the documents by their paths. */
export class DocumentHandler implements HttpHandler {
  readonly #documents: ReadonlyMap<string, ServedDocument>;
  readonly #deps: DocumentHandlerDeps;
  /** One shared buffer per document: slow readers then cost no extra memory. */
  readonly #cache = new Map<ServedDocument, CachedDocument>();

  constructor(deps: DocumentHandlerDeps) {
    this.#deps = deps;
    this.#documents = new Map(deps.documents.map((document) => [document.path, document]));
  }

  handle(request: IncomingMessage, response: ServerResponse): boolean {
    const { method = "GET", url = "/" } = request;
    const mark = url.indexOf("?");
    const document = this.#documents.get(mark < 0 ? url : url.slice(0, mark));
    if (document === undefined) return false;
    const { requestIds, requests, time } = this.#deps;
    const record = recordUntilClosed(requests, "http", document.path, response);
    const requestId = requestIds.of(request.headers["x-request-id"]);
    response.setHeader("X-Request-Id", requestId);
    response.setHeader("Access-Control-Allow-Origin", "*");
    response.setHeader("Access-Control-Expose-Headers", "etag, retry-after, x-request-id");
    try {
      if (method === "OPTIONS") {
        const allowed = { "Access-Control-Allow-Methods": ALLOW, ...allowedHeaders(request) };
        response.writeHead(204, { Allow: ALLOW, ...allowed }).end();
      } else if (method !== "GET" && method !== "HEAD")
        throw new ToolgateError("METHOD_NOT_ALLOWED", `this path supports ${ALLOW}`);
      else {
        time.admit(record, { caller: undefined, rate: undefined }, new HttpCredentials(request));
        time.answered(
          record,
          time.measure(record, () => this.#serve(document, request, response)),
        );
      }
    } catch (error) {
      if (!(error instanceof ToolgateError)) throw error;
      this.#refuse(response, requestId, error);
    }
    return true;
  }

  #refuse(response: ServerResponse, requestId: string, error: ToolgateError): void {
    // Closes the connection instead of reading the rest of the body, or further requests.
    response.shouldKeepAlive = false;
    send(response, [["allow", ALLOW]], this.#deps.failed(error, requestId));
  }

  /** @returns bytes of the answer's body */
  #serve(document: ServedDocument, request: IncomingMessage, response: ServerResponse): number {
    const { body, etag } = this.#cached(document);
    response.setHeader("ETag", etag);
    response.setHeader("Cache-Control", `public, max-age=${document.maxAgeSeconds}`);
    response.setHeader("X-Content-Type-Options", "nosniff");
    if (hasVersion(request.headers["if-none-match"], etag)) {
      response.writeHead(304).end();
      return 0;
    }
    response.writeHead(200, { "Content-Type": document.mediaType, "Content-Length": body.length });
    // Node omits the body for HEAD (RFC 9110 section 9.3.2).
    response.end(body);
    return request.method === "HEAD" ? 0 : body.length;
  }

  #cached(document: ServedDocument): CachedDocument {
    const text = document.text();
    const known = this.#cache.get(document);
    if (known?.text === text) return known;
    const body = Buffer.from(text);
    const kept = { text, body, etag: `"${tagOf(body)}"` };
    this.#cache.set(document, kept);
    return kept;
  }
}
