import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { printable, SignInError } from "./errors.ts";

const PATH = "/callback";
/** For the last page to arrive, ms. */
const LINGER_MS = 1_000;

/** What the authorization server's answer must have. */
interface Expected {
  readonly state: string;
  readonly issuer: string;
}

/** Receives the authorization server's answer on this machine (RFC 8252 section 7.3), at any free port. */
export class Loopback {
  readonly redirectUri: string;
  readonly #server: Server;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.redirectUri = `http://127.0.0.1:${port}${PATH}`;
  }

  /** @throws SignInError */
  static async open(): Promise<Loopback> {
    const server = createServer();
    const listening = new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen(0, "127.0.0.1", resolve);
    });
    await listening.catch((error: unknown) => {
      throw new SignInError("SIGN_IN_FAILED", "no port of 127.0.0.1 can be opened", error);
    });
    const address = server.address();
    return new Loopback(server, typeof address === "object" && address ? address.port : 0);
  }

  /** Returns the code of the first answer with this state; others are refused. @throws SignInError */
  code(expected: Expected, timeoutMs: number): Promise<string> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new SignInError("TIMED_OUT", `no sign-in within ${timeoutMs / 1000} s; try again`));
      }, timeoutMs);
      this.#server.once("close", () => clearTimeout(timer));
      this.#server.on("request", (request: IncomingMessage, response: ServerResponse) => {
        const { method, url = "/" } = request;
        const { pathname, searchParams } = new URL(url, this.redirectUri);
        if (method !== "GET" || pathname !== PATH || searchParams.get("state") !== expected.state)
          return page(response, 404, "This is not an answer to the sign-in.");
        const answer = codeOf(searchParams, expected);
        if (typeof answer === "string") resolve(answer);
        else reject(answer);
        page(
          response,
          answer instanceof Error ? 400 : 200,
          "Go back to the program. You can close this page.",
        );
      });
    });
  }

  close(): void {
    this.#server.close();
    // Browsers keep connections open that they do not use.
    setTimeout(() => this.#server.closeAllConnections(), LINGER_MS).unref();
  }
}

/** Returns the code of an answer, or why there is none. */
function codeOf(answer: URLSearchParams, { issuer }: Expected): string | SignInError {
  // RFC 9207: an answer of another server would carry its code to this one.
  if (answer.get("iss") !== issuer)
    return new SignInError("SIGN_IN_FAILED", "the answer is of another authorization server; try again");
  const [error, code] = [answer.get("error"), answer.get("code")];
  if (error === "access_denied") return new SignInError("ACCESS_DENIED", "the sign-in was refused");
  if (error === null && code !== null) return code;
  const reason = answer.get("error_description") ?? error ?? "no code";
  return new SignInError("SIGN_IN_FAILED", `the sign-in failed: ${printable(reason)}`);
}

function page(response: ServerResponse, status: number, text: string): void {
  response
    .writeHead(status, {
      "content-type": "text/plain; charset=utf-8",
      "referrer-policy": "no-referrer",
      connection: "close",
    })
    .end(`${text}\n`);
}
