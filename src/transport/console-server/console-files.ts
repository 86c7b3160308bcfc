import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { hasVersion } from "../http/response.ts";
import { withInHead, type BuiltFile, type BuiltFiles, type Coding } from "./built-files.ts";
import type { DevWallet } from "./dev-wallet.ts";

/** The page loads from its own origin only; images may be data: URIs, which wallets use for their icons. */
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
  // Trusted Types without a policy: injected scripts cannot create one.
  "trusted-types 'none'",
].join("; ");

/** Marks a page where a development wallet is available. */
export const DEV_WALLET_MARK = '<meta name="toolgate-dev-wallet" content="">';

/** Marks a page that shows the tools without a sign-in. */
const PUBLIC_TOOLS_MARK = '<meta name="toolgate-public-tools" content="">';

const NOT_BUILT =
  "The console is not built.\n\n" +
  "Run this where the gateway is installed, then restart the gateway:\n\n  npm run build:console\n";

export interface ConsoleFilesOptions {
  /** Undefined when the console is not built: a text page then explains how to build it. */
  readonly files: BuiltFiles | undefined;
  /** Whether the console is served over https; available after the servers listen. */
  readonly https: () => boolean;
  /** Whether a Cookie header names a session, valid or not. */
  readonly hasSession: (cookie: string | undefined) => boolean;
  /** Set in development only. */
  readonly devWallet?: DevWallet | undefined;
  readonly publicTools?: boolean;
  /** Serves the page and assets from their sources, with its own policy; development only. */
  readonly devFiles?: Pick<DevWallet, "handle"> | undefined;
}

export class ConsoleFiles {
  readonly #options: ConsoleFilesOptions;
  readonly #page: BuiltFile | undefined;
  readonly #signInPage: BuiltFile | undefined;

  constructor(options: ConsoleFilesOptions) {
    this.#options = options;
    const { files, devWallet, publicTools = false } = options;
    const marks = (devWallet ? DEV_WALLET_MARK : "") + (publicTools ? PUBLIC_TOOLS_MARK : "");
    const marked = (page: BuiltFile | undefined) => (page && marks !== "" ? withInHead(page, marks) : page);
    this.#page = marked(files?.get("index.html"));
    this.#signInPage = marked(files?.get("sign-in.html"));
  }

  /** @returns bytes of the answer's body */
  handle(request: IncomingMessage, response: ServerResponse): number {
    const { method = "GET", url = "/" } = request;
    for (const [name, value] of Object.entries(this.#securityHeaders()))
      response.setHeader(name, value ?? "");
    if (method !== "GET" && method !== "HEAD") {
      // Closes the connection instead of reading the rest of the body.
      response.shouldKeepAlive = false;
      return plain(response, 405, "This path supports GET and HEAD.\n", { Allow: "GET, HEAD" });
    }
    const path = url.replace(/[?#].*$/, "");
    if (path === "/console") return plain(response, 308, "", { Location: "/console/" });
    const name = path.slice("/console/".length);
    const { devWallet, devFiles } = this.#options;
    const dev = name === "dev-wallet.json" && devWallet ? devWallet : devFiles;
    if (dev) {
      dev.handle(request, response);
      return 0;
    }
    if (!this.#options.files) return plain(response, 503, NOT_BUILT);
    const file = isPageName(name) ? this.#pageFor(name, request) : this.#options.files.get(name);
    return file ? serve(file, request, response) : plain(response, 404, "No file matches this path.\n");
  }

  /** Returns the sign-in page if there surely is no session; links from other sites omit a strict cookie. */
  #pageFor(name: string, { headers }: IncomingMessage): BuiltFile | undefined {
    const isUnsure = headers["sec-fetch-site"] === "cross-site";
    const isPublic = this.#options.publicTools === true && /^tools(?:\/|$)/.test(name);
    return isUnsure || isPublic || this.#options.hasSession(headers.cookie) ? this.#page : this.#signInPage;
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

/** Whether the name is a page's: client-side routes have no extension. */
function isPageName(name: string): boolean {
  return name === "index.html" || name === "sign-in.html" || /(?:^|\/)[^./]*$/.test(name);
}

function serve(file: BuiltFile, { method, headers }: IncomingMessage, response: ServerResponse): number {
  const coding = chosenCoding(headers["accept-encoding"], file);
  const etag = `"${file.etag}${coding === "identity" ? "" : `-${coding}`}"`;
  response.setHeader("ETag", etag);
  response.setHeader("Vary", file.hashed ? "Accept-Encoding" : "Accept-Encoding, Cookie, Sec-Fetch-Site");
  response.setHeader("Cache-Control", file.hashed ? "public, max-age=31536000, immutable" : "no-cache");
  if (hasVersion(headers["if-none-match"], etag)) {
    response.writeHead(304).end();
    return 0;
  }
  const body = file.bodies[coding] ?? file.bodies.identity;
  if (coding !== "identity") response.setHeader("Content-Encoding", coding);
  response.writeHead(200, { "Content-Type": file.mediaType, "Content-Length": body.length });
  // Node omits the body for HEAD (RFC 9110 section 9.3.2).
  response.end(body);
  return method === "HEAD" ? 0 : body.length;
}

function plain(
  response: ServerResponse,
  status: number,
  text: string,
  headers: OutgoingHttpHeaders = {},
): number {
  const common = { "Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store" };
  response.writeHead(status, { ...common, "Content-Length": Buffer.byteLength(text), ...headers }).end(text);
  return text.length;
}

/** Characters of Accept-Encoding that are parsed; browsers send 30. */
const LONGEST_ACCEPT = 200;

/** Returns the smallest coding the client accepts (RFC 9110 section 12.5.3). */
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
