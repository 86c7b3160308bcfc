import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { hasVersion } from "../http/entity-tag.ts";
import { withInHead, type BuiltFile, type BuiltFiles, type Coding } from "./built-files.ts";
import type { DevWallet } from "./dev-wallet.ts";

/** What the page may load, and where it may send: itself, and the pictures that wallets bring along (data: URIs). */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  // The page needs no policy, so that no script in it can make one of its own.
  "trusted-types 'none'",
].join("; ");

/** Says to the page that there is a development wallet to ask for. */
const DEV_WALLET_MARK = '<meta name="toolgate-dev-wallet" content="">';

const NOT_BUILT =
  "The console is not built.\n\nRun this where the gateway is installed, then start the gateway again:\n\n  npm run build:console\n";

/** What the page is served from. */
export interface ConsoleFilesOptions {
  /** Undefined where the console is not built: a plain page then says what to do. */
  readonly files: BuiltFiles | undefined;
  /** Whether the console is reached over https; asked once the doors are open. */
  readonly https: () => boolean;
  /** Only in development. */
  readonly devWallet?: DevWallet | undefined;
}

/** Serves the console's page and what it is made of to anyone, from memory: nothing of it depends on who asks. */
export class ConsoleFiles {
  readonly #options: ConsoleFilesOptions;
  readonly #page: BuiltFile | undefined;

  constructor(options: ConsoleFilesOptions) {
    this.#options = options;
    const page = options.files?.get("index.html");
    this.#page = page && options.devWallet ? withInHead(page, DEV_WALLET_MARK) : page;
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const { method = "GET", url = "/" } = request;
    for (const [name, value] of Object.entries(this.#securityHeaders()))
      response.setHeader(name, value ?? "");
    if (method !== "GET" && method !== "HEAD") {
      // What the caller may still be sending is not read.
      response.shouldKeepAlive = false;
      return plain(response, 405, "This path takes GET and HEAD.\n", { Allow: "GET, HEAD" });
    }
    const path = url.replace(/[?#].*$/, "");
    if (path === "/console") return plain(response, 308, "", { Location: "/console/" });
    const name = path.slice("/console/".length);
    if (name === "dev-wallet.json" && this.#options.devWallet)
      return this.#options.devWallet.handle(request, response);
    if (!this.#options.files) return plain(response, 503, NOT_BUILT);
    const file = this.#fileOf(name);
    if (file) serve(file, request, response);
    else plain(response, 404, "There is nothing at this path.\n");
  }

  /** The file of that name; the page for whatever could be one of its own addresses, which have no extension. */
  #fileOf(name: string): BuiltFile | undefined {
    if (name === "" || name === "index.html" || /(?:^|\/)[^./]*$/.test(name)) return this.#page;
    return this.#options.files?.get(name);
  }

  #securityHeaders(): OutgoingHttpHeaders {
    return {
      "Content-Security-Policy": CONTENT_SECURITY_POLICY,
      "Cross-Origin-Opener-Policy": "same-origin-allow-popups",
      "Cross-Origin-Resource-Policy": "same-origin",
      "Referrer-Policy": "no-referrer",
      "X-Content-Type-Options": "nosniff",
      ...(this.#options.https() && { "Strict-Transport-Security": "max-age=31536000" }),
    };
  }
}

function serve(file: BuiltFile, { headers }: IncomingMessage, response: ServerResponse): void {
  const coding = chosenCoding(headers["accept-encoding"], file);
  const etag = `"${file.etag}${coding === "identity" ? "" : `-${coding}`}"`;
  response.setHeader("ETag", etag);
  response.setHeader("Vary", "Accept-Encoding");
  response.setHeader("Cache-Control", file.hashed ? "public, max-age=31536000, immutable" : "no-cache");
  if (hasVersion(headers["if-none-match"], etag)) {
    response.writeHead(304).end();
    return;
  }
  const body = file.bodies[coding] ?? file.bodies.identity;
  if (coding !== "identity") response.setHeader("Content-Encoding", coding);
  response.writeHead(200, { "Content-Type": file.mediaType, "Content-Length": body.length });
  // Node leaves the body out of an answer to HEAD (RFC 9110 section 9.3.2).
  response.end(body);
}

function plain(
  response: ServerResponse,
  status: number,
  text: string,
  headers: OutgoingHttpHeaders = {},
): void {
  const common = { "Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store" };
  response.writeHead(status, { ...common, "Content-Length": Buffer.byteLength(text), ...headers }).end(text);
}

/** Characters of Accept-Encoding that are read; browsers send 30. */
const LONGEST_ACCEPT = 200;

/** The smallest form that the caller takes (RFC 9110 section 12.5.3). */
function chosenCoding(accepted: string | undefined, { bodies }: BuiltFile): Coding {
  const weights = new Map<string, number>();
  if (accepted === undefined || accepted.length > LONGEST_ACCEPT) return "identity";
  for (const part of accepted.toLowerCase().split(",")) {
    const [coding = "", ...parameters] = part.split(";").map((text) => text.trim());
    const weight = parameters.find((text) => text.startsWith("q="))?.slice(2);
    weights.set(coding, weight === undefined ? 1 : Number(weight));
  }
  const takes = (coding: Coding) =>
    bodies[coding] !== undefined && (weights.get(coding) ?? weights.get("*") ?? 0) > 0;
  return (["br", "gzip"] as const).find(takes) ?? "identity";
}
